/** How a model writes reasoning and tool calls in its text. Plain data, because it crosses a process boundary. */
export type OutputFormat = {
  /** A name in `model-text/formats/tool-formats.ts`; absent when calls are not parsed. */
  readonly toolFormat?: string
  /** The tags around reasoning; absent when the model has none. */
  readonly reasoning?: { readonly open: string; readonly close: string }
  /** Texts that end the model's turn, as its chat template says. */
  readonly turnEnds?: readonly string[]
  /** The prompt ends inside a reasoning block that the template opened. */
  readonly startsInReasoning: boolean
}
