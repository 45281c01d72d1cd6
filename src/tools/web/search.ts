import { Agent, type Dispatcher, request } from 'undici'
import { parseJson } from '../../base/json.ts'
import { withTimeLimit } from '../../base/time-limit.ts'
import { messageOf } from '../../contract/errors.ts'
import type { SiteRules } from '../../contract/request.ts'
import type { ToolOutcome } from '../../contract/server-tool.ts'
import { explainStatus, readResults, type SearchService, searchRequest } from './search-services.ts'

type Search = {
  readonly service: SearchService
  readonly count: number
  /** The rules of the request. */
  readonly rules: SiteRules | undefined
  readonly signal: AbortSignal
}
type Asking = Search & { readonly dispatcher: Dispatcher }

const timeoutMs = 15_000
const maxReplyBytes = 2 * 1024 * 1024
const maxQueryLength = 1000
const advice = 'Search with other words once, or answer without the search and say so.'

/** The results of a search, as text for the model. The operator chose the service, so it may be at any address. */
export async function search(query: string, { signal, ...options }: Search): Promise<ToolOutcome> {
  if (query.length > maxQueryLength) return failed(`the query has ${query.length} characters, more than ${maxQueryLength}`)
  const tooLate = () => new Error(`the search service did not answer within ${timeoutMs / 1000} seconds`)
  // One agent per search: a kept agent would connect again after a cancel.
  const dispatcher = new Agent({ connect: { timeout: timeoutMs } })
  try {
    const work = (limited: AbortSignal) => ask(query, { ...options, dispatcher, signal: limited })
    return await withTimeLimit(signal, { timeoutMs, tooLate }, work)
  } catch (error) {
    return failed(signal.aborted ? 'cancelled' : messageOf(error))
  } finally {
    await dispatcher.destroy()
  }
}

async function ask(query: string, { service, count, rules, dispatcher, signal }: Asking): Promise<ToolOutcome> {
  const { url, ...terms } = searchRequest(service, query, { count, rules })
  const { statusCode, body } = await request(url, { ...terms, dispatcher, signal })
  try {
    if (statusCode !== 200) return failed(explainStatus(service, statusCode))
    const pieces: Buffer[] = []
    let size = 0
    for await (const piece of body as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > maxReplyBytes) return failed('the search service sent more than 2 MiB')
      pieces.push(piece)
    }
    return found(query, readResults(service, parseJson(Buffer.concat(pieces).toString()), { count, rules }))
  } finally {
    body.on('error', () => undefined).destroy()
  }
}

function found(query: string, results: ReturnType<typeof readResults>): ToolOutcome {
  if (results === undefined) return failed('the search service sent a reply that is not the JSON of its kind')
  if (results.length === 0) return { text: `No results for: ${query}`, isError: false, advice, sources: [] }
  const lines = results.map(({ title, url, snippet }, index) =>
    [`${index + 1}. ${title}`, `   URL: ${url}`, ...(snippet === '' ? [] : [`   ${snippet}`])].join('\n'),
  )
  const hint = 'These are excerpts. To read a page, call web_search with its `url`.'
  return { text: `${lines.join('\n\n')}\n\n${hint}`, isError: false, sources: results }
}

function failed(reason: string): ToolOutcome {
  return { text: `Search failed: ${reason}.`, isError: true, advice }
}
