/** How a model marks its reasoning and its calls in the text it writes. Data: it crosses the worker's process boundary. */
export type OutputFormat = {
  /** A name of the table in `model-text/formats/tool-formats.ts`; absent when calls are not looked for. */
  readonly toolFormat?: string
  /** The texts around a block of reasoning; absent when the model has none. */
  readonly reasoning?: { readonly open: string; readonly close: string }
  /** The prompt ended inside a block of reasoning that the template had opened. */
  readonly startsInReasoning: boolean
}
