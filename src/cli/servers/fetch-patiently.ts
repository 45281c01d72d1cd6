/**
 * As `fetch`, without its limit of five minutes for the headers of a reply and between its parts: fetching and loading a model, or reading
 * a prompt, may take longer.
 */
export async function fetchPatiently(url: string, init: RequestInit): Promise<Response> {
  // It takes half as long to load as the rest of a command.
  const { Agent, fetch } = await import('undici')
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  return (await fetch(url, { ...init, dispatcher } as Parameters<typeof fetch>[1])) as unknown as Response
}
