/** Tokens, cost and waiting for people, by day, session, agent, model, directory, workspace or key. */
import { useEffect, useState } from "preact/hooks";
import type { UsageReport, UsageSum } from "../api/types";
import { identity, may } from "../state/identity";
import { keys, loadKeys } from "../state/keys";
import { attempt } from "../state/notices";
import { sessionHref } from "../state/route";
import { type Field, nameOf, type UsageChoice, usageReport } from "../state/usage";
import { count, duration, money, tokenParts, tokensOf } from "../text/format";
import { Icon } from "../parts/Icon";

const FIELDS: [Field, string][] = [
  ["day", "Day"],
  ["session", "Session"],
  ["agent", "Agent"],
  ["model", "Model"],
  ["directory", "Project"],
  ["workspace", "Workspace"],
  ["key", "Key"],
];
const DAYS: [number, string][] = [
  [1, "Today"],
  [7, "Last 7 days"],
  [30, "Last 30 days"],
  [0, "All time"],
];

export function UsageView() {
  const [choice, setChoice] = useState<UsageChoice>({ by: "day", days: 30 });
  const [shown, setShown] = useState<{ by: Field; report: UsageReport } | null>(null);
  const load = async () => {
    const report = await attempt(() => usageReport(choice, Date.now()));
    if (report) setShown({ by: choice.by, report });
  };
  useEffect(() => void load(), [choice]);
  useEffect(() => void (may("admin") && attempt(loadKeys)), []);
  const fields = FIELDS.filter(([field]) => field !== "workspace" || identity.value?.workspace === null);
  return (
    <div class="page">
      <header class="page-header">
        <a class="icon-button back" href="#/" aria-label="All sessions">
          <Icon name="back" />
        </a>
        <h1>Usage</h1>
        <select aria-label="By" value={choice.by} onChange={(event) => setChoice({ ...choice, by: event.currentTarget.value as Field })}>
          {fields.map(([field, name]) => (
            <option key={field} value={field}>
              By {name.toLowerCase()}
            </option>
          ))}
        </select>
        <select aria-label="Days" value={choice.days} onChange={(event) => setChoice({ ...choice, days: Number(event.currentTarget.value) })}>
          {DAYS.map(([days, name]) => (
            <option key={days} value={days}>
              {name}
            </option>
          ))}
        </select>
        <span class="spring" />
        <button type="button" class="button" onClick={() => void load()}>
          Reload
        </button>
      </header>
      <div class="scroller page-body" tabIndex={0} aria-busy={!shown}>
        {shown && !shown.report.total.turns && !tokensOf(shown.report.total.usage) && (
          <div class="empty">
            <h2>Nothing used</h2>
            <p>Each turn that ends is counted here, with its tokens, its cost and the time it waited for a person. Days are those of UTC.</p>
          </div>
        )}
        {shown && shown.report.sums.length > 0 && <Sums of={shown.report} by={shown.by} />}
      </div>
    </div>
  );
}

function Sums({ of: report, by }: { of: UsageReport; by: Field }) {
  const weigh = report.total.costUsd ? (sum: UsageSum) => sum.costUsd : (sum: UsageSum) => tokensOf(sum.usage);
  const most = Math.max(...report.sums.map(weigh), Number.MIN_VALUE);
  const sums = by === "day" ? report.sums.toReversed() : report.sums;
  return (
    <>
      <table class="records usage" aria-label="Usage">
        <thead>
          <tr>
            <th>{FIELDS.find(([field]) => field === by)?.[1]}</th>
            <th aria-hidden="true" />
            <th>Cost</th>
            <th>Tokens</th>
            <th>Turns</th>
            <th>Sessions</th>
            <th>Waited for people</th>
          </tr>
        </thead>
        <tbody>
          {sums.map((sum, index) => (
            <tr key={index}>
              <th scope="row" class="long">
                <Name of={sum} by={by} />
              </th>
              <td class="share" aria-hidden="true">
                <span style={{ width: `${(100 * weigh(sum)) / most}%` }} />
              </td>
              <Counts of={sum} />
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td aria-hidden="true" />
            <Counts of={report.total} />
          </tr>
        </tfoot>
      </table>
      {report.more && <p class="older">These are the first {count(report.sums.length)}. The total has all.</p>}
    </>
  );
}

function Name({ of: sum, by }: { of: UsageSum; by: Field }) {
  if (by === "session" && sum.sessionId) return <a href={sessionHref(sum.sessionId)}>{nameOf(sum, by)}</a>;
  if (by === "key") return <span title={sum.keyId}>{keys.value?.find((key) => key.keyId === sum.keyId)?.name ?? nameOf(sum, by)}</span>;
  return <>{nameOf(sum, by)}</>;
}

function Counts({ of: sum }: { of: UsageSum }) {
  return (
    <>
      <td>{money(sum.costUsd)}</td>
      <td title={tokenParts(sum.usage)}>{count(tokensOf(sum.usage))}</td>
      <td>{count(sum.turns)}</td>
      <td>{count(sum.sessions)}</td>
      <td>{sum.waitedSeconds >= 1 ? duration(sum.waitedSeconds * 1000) : ""}</td>
    </>
  );
}
