/** The reply that both servers give: words of about the length of tokens. */
export function scriptedChunks(count: number): string[] {
  return Array.from({ length: count }, (_, index) => ` tok${index % 10}`)
}
