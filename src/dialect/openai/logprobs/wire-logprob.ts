/** JSON has no infinity; OpenAI sends -9999 for an impossible token. */
export function toWireLogprob(logprob: number): number {
  return Number.isFinite(logprob) ? logprob : -9999
}
