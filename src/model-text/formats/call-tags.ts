import type { Tool } from '../../contract/request.ts'
import type { RequiredCall, RequiredCalls } from './required-calls.ts'
import type { MessageSyntax, TagPosition, ToolFormat, Trigger } from './tool-format.ts'

/** A text that makes it certain that a call follows, and the calls as they go on behind it. */
export type CallTag = {
  readonly tag: string
  readonly position: TagPosition
  /** It counts inside reasoning as well. */
  readonly endsReasoning: boolean
  /** What follows: the canonical spelling of the calls, without the mark. */
  readonly rest: RequiredCalls
}

type Options = {
  readonly parallel: boolean
  /** What of a text a model can write: not what stands in front of a token that ends its turn. */
  writable(text: string): string
}

/**
 * The marks with which a model may begin calls of its own accord, where what follows can be bound: every spelling that the
 * format's own description begins with. Calls in another spelling, which readers tolerate, have no mark here.
 */
export function callTags(format: ToolFormat, tools: readonly Tool[], { parallel, writable }: Options): readonly CallTag[] {
  const described = format.describeCalls(tools, { parallel })
  const calls: RequiredCalls = { ...described, prefix: writable(described.prefix) }
  if (format.messages !== undefined) return joinSame(messageTags(calls, format.messages))
  const triggers = format.triggers(tools)
  const block = blockTag(format, triggers, calls)
  const single = block === undefined ? calls.calls.flatMap((call) => ownTags(call, triggers)) : []
  const bare = calls.calls.flatMap((call) => bareTags(call, triggers))
  return joinSame([...(block === undefined ? [] : [block]), ...single, ...bare])
}

/** The mark of a block of calls: a trigger, or what such a block begins with and says nothing by itself. */
function blockTag({ droppedTags = [] }: ToolFormat, triggers: readonly Trigger[], calls: RequiredCalls): CallTag | undefined {
  const tags = [...triggers.filter(({ keep }) => keep !== true), ...droppedTags].filter(({ tag }) => calls.prefix.startsWith(tag))
  const [longest] = tags.sort((a, b) => b.tag.length - a.tag.length)
  if (longest === undefined) return undefined
  return { ...placeOf(longest), rest: { ...calls, prefix: calls.prefix.slice(longest.tag.length) } }
}

/** Tags that every call has for itself: its text begins with one, or is the end of one. */
function ownTags(call: RequiredCall, triggers: readonly Trigger[]): readonly CallTag[] {
  const head = headOf(call)
  return triggers.flatMap((trigger): CallTag[] => {
    if (trigger.keep === true || head === '') return []
    if (head.startsWith(trigger.tag)) return [{ ...placeOf(trigger), rest: behind(call, trigger.tag.length) }]
    return trigger.tag.endsWith(head) ? [{ ...placeOf(trigger), rest: behind(call, head.length) }] : []
  })
}

/** An object without any mark is a call once the name of a tool stands where a call has it. */
function bareTags(call: RequiredCall, triggers: readonly Trigger[]): readonly CallTag[] {
  const head = headOf(call)
  const name = JSON.stringify(call.name)
  const end = head.indexOf(name) + name.length
  if (!head.startsWith('{') || end < name.length) return []
  return triggers
    .filter(({ tag, keep }) => tag === '{' && keep === true)
    .map((trigger) => ({ ...placeOf(trigger), tag: head.slice(0, end), rest: behind(call, end) }))
}

/** Headers: what stands in front of the name, where that has a control mark in it; otherwise all of it. */
function messageTags({ calls }: RequiredCalls, { body }: MessageSyntax): readonly CallTag[] {
  return calls.map((call) => {
    const head = headOf(call)
    const name = head.indexOf(call.name)
    const end = head.slice(0, name).includes('<|') ? name : head.indexOf(body) + body.length
    return { tag: head.slice(0, end), position: 'anywhere', endsReasoning: true, rest: behind(call, end) }
  })
}

/** Where several calls begin with the same mark, any of them may follow it. */
function joinSame(tags: readonly CallTag[]): readonly CallTag[] {
  const joined = new Map<string, CallTag>()
  for (const tag of tags) {
    const key = `${tag.position} ${tag.tag}`
    const known = joined.get(key)
    const calls = [...(known?.rest.calls ?? []), ...tag.rest.calls]
    joined.set(key, known === undefined ? tag : { ...known, rest: { ...known.rest, calls } })
  }
  return [...joined.values()]
}

function placeOf({ tag, position, ...trigger }: Pick<Trigger, 'tag' | 'position' | 'endsReasoning'>): Omit<CallTag, 'rest'> {
  return { tag, position, endsReasoning: trigger.endsReasoning === true }
}

function headOf({ pieces: [first] }: RequiredCall): string {
  return first?.type === 'text' ? first.text : ''
}

/** One call without the beginning of its head. */
function behind(call: RequiredCall, length: number): RequiredCalls {
  const [, ...others] = call.pieces
  const pieces = [{ type: 'text' as const, text: headOf(call).slice(length) }, ...others]
  return { prefix: '', suffix: '', calls: [{ ...call, pieces }] }
}
