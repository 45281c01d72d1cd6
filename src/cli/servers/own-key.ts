import { rootOf } from '../../base/text/server-url.ts'
import type { ServerAddress } from './client.ts'

/** The key in `DRAGOMAN_API_KEY` for a URL: it belongs to the server of these commands, and no other server sees it. */
export function ownKey(url: string, server: ServerAddress): string | undefined {
  return URL.parse(rootOf(url))?.href === URL.parse(server.url)?.href ? server.apiKey : undefined
}
