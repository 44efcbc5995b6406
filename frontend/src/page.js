// What an exported page runs.

import { mountPage } from "./exported_page.js";

await mountPage();
