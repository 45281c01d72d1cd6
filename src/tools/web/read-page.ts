import { messageOf } from '../../contract/errors.ts'
import type { SiteRules } from '../../contract/request.ts'
import type { ToolOutcome } from '../../contract/server-tool.ts'
import type { Guard } from '../../media/guarded-connect.ts'
import { FetchProblem, guardedFetch } from '../../media/guarded-fetch.ts'
import type { ThreadPool } from '../../threads/thread-pool.ts'
import type { ThreadReply } from '../../threads/thread-reply.ts'
import { capped, decodePage, pageKind } from './page-text.ts'
import { admits } from './sites.ts'

export type HtmlPage = { readonly html: string; readonly url: string }
export type MarkdownPage = { readonly markdown: string; readonly title: string }

type PageReading = {
  /** Allows addresses that are not public. */
  readonly guard: Guard
  readonly threads: ThreadPool<HtmlPage, ThreadReply<MarkdownPage>>
  /** The rules of the request. */
  readonly rules?: SiteRules | undefined
}

const timeoutMs = 60_000
const maxBytes = 512 * 1024
const maxRedirects = 5
const maxLength = 16_000
const accept = 'text/html, application/xhtml+xml, text/plain, application/json;q=0.9, */*;q=0.1'
const advice = 'Try another page, or answer without it and say so.'

/** A web page as text for the model, with HTML as Markdown. Only public addresses are fetched, also after a redirect. */
export async function readPage(url: string, signal: AbortSignal, { guard, threads, rules }: PageReading): Promise<ToolOutcome> {
  // Models omit the scheme.
  const address = /^[a-z][a-z\d+.-]*:/i.test(url) ? url : `https://${url}`
  try {
    const limits = { timeoutMs, maxBytes, maxRedirects, larger: 'truncate', accept, grow: () => undefined } as const
    const options = { ...limits, ...(rules !== undefined && { admits: (asked: URL) => admits(rules, asked) }) }
    const { bytes, contentType, isTruncated, url: found } = await guardedFetch(address, signal, { ...guard, ...options })
    const kind = pageKind(contentType, bytes)
    if (kind === undefined) return failed(`is not a text (${contentType?.slice(0, 80) ?? 'of no type'})`)
    const text = decodePage(contentType, bytes)
    const page = kind === 'text' ? { markdown: text, title: '' } : await toMarkdown({ html: text, url: found }, signal, threads)
    signal.throwIfAborted()
    if (page === undefined) return failed('cannot be read: it is too complicated')
    const title = page.title.replace(/\s+/g, ' ').trim().slice(0, 200)
    const body = page.markdown.trim() === '' ? '(The page has no text. It may need a browser.)' : page.markdown.trim()
    return {
      text: `URL: ${found}\n\n${capped(body, maxLength, isTruncated)}`,
      isError: false,
      sources: [{ url: found, title: title === '' ? found : title }],
    }
  } catch (error) {
    if (signal.aborted) return { text: 'Failed to fetch the page: cancelled.', isError: true }
    return failed(error instanceof FetchProblem ? error.message : `cannot be fetched (${messageOf(error)})`)
  }
}

async function toMarkdown(
  page: HtmlPage,
  signal: AbortSignal,
  threads: PageReading['threads'],
): Promise<MarkdownPage | undefined> {
  const reply = await threads.request(page, signal)
  return reply?.type === 'done' ? reply.result : undefined
}

function failed(problem: string): ToolOutcome {
  return { text: `Failed to fetch the page: it ${problem}.`, isError: true, advice }
}
