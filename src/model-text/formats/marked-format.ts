import { peek, type Reading, space } from '../scan/text-feed.ts'
import { readCallList } from './call-object.ts'
import type { CallWriter } from './call-writer.ts'
import { jsonCalls } from './json-calls.ts'
import type { RequiredCalls } from './required-calls.ts'
import type { ToolFormat } from './tool-format.ts'

/** The tags that a chat template names for its calls. */
export type CallMarks = { readonly start: string; readonly end?: string }

/**
 * A format whose calls are between tags that the model's template names. `isJson`: between them is a list of calls in JSON, as for
 * tabbyAPI; otherwise calls as in `base`. The tags are not text of the answer, even without a call between them.
 */
export function markedFormat(base: ToolFormat, { start, end }: CallMarks, isJson: boolean): ToolFormat {
  // A row of messages has its own delimiters.
  if (base.messages !== undefined) return base
  const closers = end === undefined ? [] : [end]
  const dropped = [start, ...closers].map((tag) => ({ tag, position: 'anywhere', ofCalls: true }) as const)
  return {
    ...base,
    triggers(tools) {
      const own = base.triggers(tools)
      if (own.some(({ tag }) => tag === start)) return own
      return [{ tag: start, position: 'anywhere', endsReasoning: 'parsed', read: readMarked(start, closers) }, ...own]
    },
    droppedTags: [...(base.droppedTags ?? []), ...dropped],
    visibleTokens: [...new Set([...base.visibleTokens, start, ...closers])],
    describeCalls(tools, { parallel }) {
      if (!isJson) return inMarks(base.describeCalls(tools, { parallel }), { start, ...(end !== undefined && { end }) })
      return jsonCalls({
        prefix: `${start}[`,
        separator: ', ',
        suffix: `]${end ?? ''}`,
        before: (name) => `{"function": {"name": ${JSON.stringify(name)}, "arguments": `,
        after: '}}',
      })(tools, { parallel })
    },
  }
}

/** Calls in JSON after the tag; anything else there is read as if the tag were missing. */
function readMarked(start: string, close: readonly string[]) {
  const ends = [{ tag: start, before: ['{"', '[{', '[\n'] }]
  const readList = readCallList({ close, isBlock: close.length > 0, ends })
  return function* (writer: CallWriter): Reading<boolean> {
    const { feed } = writer
    const from = feed.position
    yield* space(feed)
    const next = yield* peek(feed)
    const isList = next === '{' || next === '['
    if (isList && (yield* readList(writer))) return true
    // It is part of a call that a limit truncated.
    if (feed.truncated && feed.starved) return false
    writer.endList(false)
    feed.at -= feed.position - from
    return true
  }
}

/** The calls of another format between the tags, on lines of their own. */
function inMarks(calls: RequiredCalls, { start, end }: CallMarks): RequiredCalls {
  if (calls.prefix.startsWith(start)) return calls
  return { ...calls, prefix: `${start}\n${calls.prefix}`, suffix: `${calls.suffix}${end === undefined ? '' : `\n${end}`}` }
}
