import { render } from "preact";
import { takeTokenFromAddress } from "./api/token";
import { followAddress } from "./state/route";
import { start } from "./state/live";
import { applyTheme } from "./state/theme";
import { listenToKeys } from "./views/shortcuts";
import { App } from "./views/App";
import "./styles/index.css";

takeTokenFromAddress(location, history, localStorage);
applyTheme();
followAddress();
start();
listenToKeys();
render(<App />, document.getElementById("app") as HTMLElement);
