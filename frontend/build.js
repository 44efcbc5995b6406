// Bundles the modules of src/ into the files that Python hands to the browser: node build.js [folder]

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const { config } = JSON.parse(readFileSync(`${here}package.json`, "utf8"));

const NOTE = "// Built from frontend/src by `make frontend`: change it there.";

await build({
  absWorkingDir: here,
  entryPoints: { widget: "src/widget.js", page: "src/page.js" },
  outdir: process.argv[2] ?? `${here}${config.output}`,
  bundle: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  banner: { js: NOTE },
  logLevel: "warning",
});
