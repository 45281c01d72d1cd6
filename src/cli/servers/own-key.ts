import type { ServerAddress } from './client.ts'

/** The root of a server: the base URL of an OpenAI client means the same server. */
export const rootOf = (url: string): string => url.replace(/\/+(v1\/*)?$/, '')

/** The key in `DRAGOMAN_API_KEY` for a URL: it belongs to the server of these commands, and no other server sees it. */
export function ownKey(url: string, server: ServerAddress): string | undefined {
  return URL.parse(rootOf(url))?.href === URL.parse(server.url)?.href ? server.apiKey : undefined
}
