/** JSON has no infinity; OpenAI says -9999 for what is impossible. */
export function toWireLogprob(logprob: number): number {
  return Number.isFinite(logprob) ? logprob : -9999
}
