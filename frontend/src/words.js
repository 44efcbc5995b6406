// Every word that the front end itself shows or says. Nothing else has any.

export const ENGLISH = {
  // the kernel
  waiting: "Waiting for the kernel.",
  unconnected: "Waiting for the kernel: this page has lost its connection to it.",
  old_picture: "The picture is still the one from before.",
  gone: "The kernel is gone: run this cell again.",
  gone_detail: "Until then the controls do nothing.",
  // areas of the panel
  code: "Code",
  printed: "Printed",
  picture: "picture",
  unreadable: "This picture could not be read.",
  hint: "Drag to see the rest, or",
  // tools of the picture: what stands on the button, what it does, what a screen reader says
  zoom_in: "Zoom in",
  zoom_out: "Zoom out",
  fit: "Fit",
  fit_title: "Show the whole picture",
  fit_spoken: "Fit: show the whole picture",
  reset: "Reset",
  reset_view_title: "Back to the view at the start",
  reset_view_spoken: "Reset: back to the view at the start",
  // marks in the picture
  new: "new",
  changed: "changed",
  same_memory: "same memory",
  marked_card: "{card}, {mark}",
  // what changed
  what_changed: "What changed: ",
  is_new: "{name} is new",
  is_gone: "{name} is gone",
  value_changed: "{name}: {before} → {after}",
  version_changed: "{name} version: {before} → {after}",
  attribute_changed: "{name}.{attribute}: {before} → {after}",
  more_changes: "and {n} more changes",
  // the table
  tensors: "Tensors",
  tensors_folded: "Tensors ({n})",
  tensors_folded_changed: "Tensors ({n}) · {changed} changed",
  column_name: "name",
  column_value: "value",
  column_version: "version",
  column_storage: "storage",
  cell_was: "was {before}",
  cell_changed: " (changed)",
  // controls of a player or a page
  controls: "Controls",
  counter: "{control}: {option}",
  counter_ends: "This page holds no further state; Reset starts again.",
  first_step: "First step",
  step_back: "Step back",
  play: "Play",
  pause: "Pause",
  next_step: "Next step",
  last_step: "Last step",
  step_of: "step {step} of {last}",
  // the page
  dark: "Dark",
  present: "Present",
  print_menu: "Print…",
  print: "Print",
  print_this: "this state",
  print_all: "all {n} states",
  print_list: "a list ",
  print_numbers: "Numbers of states",
  sheet_step: "{control} {option}",
  sheet_setting: "{control} = {option}",
};

/** @import { Words } from "./types.d.ts" */

/** @type {Words} */
let table = ENGLISH;

/**
 * Takes the words from another table; what it lacks stays English.
 *
 * @param {Partial<Words> | null | undefined} words
 */
export function useWords(words) {
  table = { ...ENGLISH, ...words };
}

/**
 * Returns the sentence of this name with its fields filled in.
 *
 * @param {keyof Words} name
 * @param {Record<string, string | number>} [fields]
 */
export function sentence(name, fields = {}) {
  /** @type {(whole: string, field: string) => string} */
  const fill = (whole, field) => (Object.hasOwn(fields, field) ? String(fields[field]) : whole);
  return table[name].replace(/\{(\w+)\}/g, fill);
}
