import { escapeText } from '../scan/json-string.ts'
import { passTo } from '../scan/pass-to.ts'
import { soleStringProperty } from '../scan/schema-types.ts'
import { acceptAfterSpace, peek, type Reading, space } from '../scan/text-feed.ts'
import { type CallReader, type CallWriter, declaredArguments } from './call-writer.ts'

/** Reads calls or, where there are none, code for Llama's own interpreter, if it may be called. */
export function* readOrCode(
  writer: CallWriter,
  { read, ends }: { readonly read: CallReader; readonly ends: readonly string[] },
): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  const from = feed.position
  if (yield* read(writer)) return true
  feed.at -= feed.position - from
  writer.endList(false)
  const tool = writer.tools.find(({ name }) => name === 'code_interpreter')
  if (tool === undefined || (yield* peek(feed)) === '') return false
  writer.open(tool)
  writer.arguments(`{${JSON.stringify(soleStringProperty(declaredArguments(tool)) ?? 'code')}: "`)
  const isEnded = yield* passTo(feed, ends, (text) => writer.arguments(escapeText(text)))
  if (isEnded || !feed.truncated) writer.arguments('"}')
  writer.close()
  yield* acceptAfterSpace(feed, ends)
  return true
}
