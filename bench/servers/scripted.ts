/** The reply of both servers: words about as long as tokens. */
export function scriptedChunks(count: number): string[] {
  return Array.from({ length: count }, (_, index) => ` tok${index % 10}`)
}
