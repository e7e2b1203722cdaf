/** Why the daemon refused what a form asked for: at the field that it names, or at the end of the form. */
import { useState } from "preact/hooks";
import { Failure } from "../api/client";
import { Unreadable } from "../text/sessionoptions";

export interface Fault {
  text: string;
  field: string | null;
}

/** The fault of the last try, and how to try. A try that fails returns undefined. */
export function useFault(): [Fault | null, <T>(work: () => Promise<T>) => Promise<T | undefined>] {
  const [fault, setFault] = useState<Fault | null>(null);
  const run = async <T,>(work: () => Promise<T>): Promise<T | undefined> => {
    setFault(null);
    try {
      return await work();
    } catch (error) {
      const field = error instanceof Failure || error instanceof Unreadable ? error.field : null;
      setFault({ text: error instanceof Error ? error.message : String(error), field });
      return undefined;
    }
  };
  return [fault, run];
}

/** A field's name may be followed by a path into its value. */
function names(fault: Fault, field: string): boolean {
  return fault.field?.split(/[.[]/)[0] === field;
}

/** The fault, if it is that of `field`. */
export function FieldFault({ of: fault, field }: { of: Fault | null; field: string }) {
  return fault && names(fault, field) ? (
    <span class="problem" role="alert">
      {fault.text}
    </span>
  ) : null;
}

/** The fault, if it is of none of the fields that show their own. */
export function FormFault({ of: fault, except = [] }: { of: Fault | null; except?: string[] }) {
  return fault && !except.some((field) => names(fault, field)) ? (
    <p class="problem" role="alert">
      {fault.text}
    </p>
  ) : null;
}
