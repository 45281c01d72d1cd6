import { acceptAfterSpace } from '../scan/text-feed.ts'
import type { CallReader } from './call-writer.ts'
import { jsonCalls } from './json-calls.ts'
import { acceptNoArguments, objectIsNext, readArguments, readNameBefore, writeEmptyCall } from './read-arguments.ts'
import type { ToolFormat } from './tool-format.ts'
import { endMarks, turnEnds } from './turn-marks.ts'

/** Calls as `call:NAME{key:value}` between tags. Strings are between delimiters, without escapes. */
function braceCalls(options: {
  readonly open: string
  readonly close: string
  readonly quote: string
  /** Tags that models confuse with `close`. */
  readonly misspelled?: readonly string[]
}): ToolFormat {
  const { open, close, quote, misspelled = [] } = options
  const closes = [close, ...misspelled]
  const nextTags = [...closes, open, ...turnEnds]
  const ends = endMarks(closes.map((tag) => ({ tag, before: [open] })))
  const read: CallReader = function* (writer) {
    const { feed } = writer
    yield* acceptAfterSpace(feed, ['call:'])
    const toolName = yield* readNameBefore(feed, ['{', ...nextTags])
    const tool = toolName === undefined ? undefined : writer.tool(toolName.trim())
    if (tool === undefined) return false
    if (yield* acceptNoArguments(feed, tool, { ends: nextTags })) writeEmptyCall(writer, tool)
    else {
      if (!(yield* objectIsNext(feed))) return false
      writer.open(tool)
      yield* readArguments(writer, tool, { rawQuote: quote, ends })
      writer.close()
    }
    yield* acceptAfterSpace(feed, closes)
    return true
  }
  return {
    triggers: () => [{ tag: open, position: 'anywhere', endsReasoning: 'parsed', read }],
    visibleTokens: [open, close, quote],
    // The model was taught delimiters of its own, but JSON's quotes are read as well, and grammars need them.
    describeCalls: jsonCalls({ prefix: open, separator: close + open, suffix: close, before: (toolName) => `call:${toolName}` }),
  }
}

export const gemma4: ToolFormat = {
  ...braceCalls({ open: '<|tool_call>', close: '<tool_call|>', quote: '<|"|>', misspelled: ['<|tool_call|>'] }),
  droppedTags: ['<|tool_response>', '<tool_response|>'].map((tag) => ({ tag, position: 'start' })),
}

export const functionGemma = braceCalls({
  open: '<start_function_call>',
  close: '<end_function_call>',
  quote: '<escape>',
})
