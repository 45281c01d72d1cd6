/** How a model writes reasoning and tool calls in its text. Plain data, because it crosses a process boundary. */
export type OutputFormat = {
  /** A name in `model-text/formats/tool-formats.ts`; absent when calls are not parsed. */
  readonly toolFormat?: string
  /** The tags around reasoning; absent when the model has none. */
  readonly reasoning?: { readonly open: string; readonly close: string }
  /** Texts that end the model's turn, as its chat template says. */
  readonly turnEnds?: readonly string[]
  /** Whether calls inside reasoning are made; absent: only if no closing tag follows them. */
  readonly callsInReasoning?: boolean
  /** The prompt ends inside a reasoning block that the template opened. */
  readonly startsInReasoning: boolean
}

/** An operator's settings of a model's format; the rest is recognized from its chat template. */
export type FormatSettings = {
  /** A name in `model-text/formats/tool-formats.ts`, or `auto`. */
  readonly toolFormat?: string | undefined
  readonly reasoningTags?: NonNullable<OutputFormat['reasoning']> | undefined
  readonly callsInReasoning?: boolean | undefined
}
