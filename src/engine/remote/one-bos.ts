type BosOptions = {
  /** The text of the BOS token, where known. */
  readonly bos: string | undefined
  /** The server puts the token before a prompt. */
  readonly serverAdds: boolean
  /** The model's tokenizer would. */
  readonly tokenizerAdds: boolean
}

/** A rendered prompt with exactly one BOS token once the server has read it, where the model wants one. */
export function withOneBos(text: string, { bos, serverAdds, tokenizerAdds }: BosOptions): string {
  if (bos === undefined || bos === '') return text
  let from = 0
  while (text.startsWith(bos, from)) from += bos.length
  const isWanted = from > 0 || tokenizerAdds
  return (isWanted && !serverAdds ? bos : '') + text.slice(from)
}
