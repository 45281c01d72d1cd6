import type { ServerTool, ToolSource } from '../../contract/server-tool.ts'
import type { Guard } from '../../media/guarded-connect.ts'
import { threadModule } from '../../threads/thread-module.ts'
import { ThreadPool } from '../../threads/thread-pool.ts'
import type { ThreadReply } from '../../threads/thread-reply.ts'
import { type HtmlPage, type MarkdownPage, readPage } from './read-page.ts'
import { search } from './search.ts'
import type { SearchService } from './search-services.ts'
import { rulesFor } from './sites.ts'

export type WebSearchOptions = {
  readonly service: SearchService
  readonly results: number
  /** Restricts the addresses of pages; the service itself may be anywhere. */
  readonly guard: Guard
  /** Why the tool cannot be used. */
  readonly missing?: string | undefined
}

const description =
  'Searches the web, or reads one page. With `query`: titles, addresses and excerpts of the best results. With `url`: the text of ' +
  'that page. Search first, then read the pages that matter.'
const parameters = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'What to search for.' },
    url: { type: 'string', description: 'The address of a page to read, beginning with https:// or http://.' },
  },
}
/** The limit for converting a page; the slowest of half a mebibyte take a second. */
const convertTimeoutMs = 10_000

/** The tool `web_search`, with the operator's search service. */
export function createWebSearch({ service, results, guard, missing }: WebSearchOptions): ToolSource {
  const module = threadModule('page-thread', import.meta.url)
  const threads = new ThreadPool<HtmlPage, ThreadReply<MarkdownPage>>({ module, timeoutMs: convertTimeoutMs })
  const tool: ServerTool = {
    name: 'web_search',
    kind: 'web-search',
    description,
    parameters,
    textParameter: 'query',
    async run({ arguments: { query, url }, web, signal }) {
      if (typeof url === 'string' && url.trim() !== '')
        return readPage(url.trim(), signal, { guard, threads, rules: rulesFor('pages', web) })
      if (typeof query === 'string' && query.trim() !== '') {
        return search(query.trim(), { service, count: results, rules: rulesFor('searches', web), signal })
      }
      return { text: 'Search failed: there is no query. Give `query`, or `url` for a page.', isError: true }
    },
  }
  return {
    list: () =>
      missing === undefined ? { tools: [tool], absent: [] } : { tools: [], absent: [{ name: tool.name, why: missing }] },
    close: () => threads.close(),
  }
}
