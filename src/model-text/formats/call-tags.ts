import type { FunctionTool } from '../../contract/request.ts'
import type { RequiredCall, RequiredCalls } from './required-calls.ts'
import type { MessageSyntax, TagPosition, ToolFormat, Trigger } from './tool-format.ts'

/** A tag that is certainly followed by a call, and the calls without the tag. */
export type CallTag = {
  readonly tag: string
  readonly position: TagPosition
  /** The tag counts inside reasoning as well. */
  readonly endsReasoning: boolean
  /** The required text after the tag. */
  readonly rest: RequiredCalls
}

type CallTagOptions = {
  readonly parallel: boolean
  /** The part of a prefix that a model can write: the part after a token that would end its turn. */
  writable(text: string): string
}

/**
 * The tags after which auto calls can be constrained: those that the canonical spelling of calls begins with. Other spellings,
 * which readers tolerate, have no tag here.
 */
export function callTags(
  format: ToolFormat,
  tools: readonly FunctionTool[],
  { parallel, writable }: CallTagOptions,
): readonly CallTag[] {
  const described = format.describeCalls(tools, { parallel })
  const calls: RequiredCalls = { ...described, prefix: writable(described.prefix) }
  if (format.messages !== undefined) return joinSame(messageTags(calls, format.messages))
  const triggers = format.triggers(tools)
  const block = blockTag(format, triggers, calls)
  const single = block === undefined ? calls.calls.flatMap((call) => ownTags(call, triggers)) : []
  const bare = calls.calls.flatMap((call) => bareTags(call, triggers))
  return joinSame([...(block === undefined ? [] : [block]), ...single, ...bare])
}

/** The tag of a block of calls: a trigger, or a dropped tag that such a block begins with. */
function blockTag({ droppedTags = [] }: ToolFormat, triggers: readonly Trigger[], calls: RequiredCalls): CallTag | undefined {
  const tags = [...triggers.filter(({ keep }) => keep !== true), ...droppedTags].filter(({ tag }) => calls.prefix.startsWith(tag))
  const [longest] = tags.sort((a, b) => b.tag.length - a.tag.length)
  if (longest === undefined) return undefined
  return { ...positionOf(longest), rest: { ...calls, prefix: calls.prefix.slice(longest.tag.length) } }
}

/** The tags of single calls: a call's text begins with the tag, or is the end of it. */
function ownTags(call: RequiredCall, triggers: readonly Trigger[]): readonly CallTag[] {
  const head = headOf(call)
  return triggers.flatMap((trigger): CallTag[] => {
    if (trigger.keep === true || head === '') return []
    if (head.startsWith(trigger.tag)) return [{ ...positionOf(trigger), rest: after(call, trigger.tag.length) }]
    return trigger.tag.endsWith(head) ? [{ ...positionOf(trigger), rest: after(call, head.length) }] : []
  })
}

/** An object without a tag is a call once it has the name of a tool in the calls' place for it. */
function bareTags(call: RequiredCall, triggers: readonly Trigger[]): readonly CallTag[] {
  const head = headOf(call)
  const name = JSON.stringify(call.name)
  const end = head.indexOf(name) + name.length
  if (!head.startsWith('{') || end < name.length) return []
  return triggers
    .filter(({ tag, keep }) => tag === '{' && keep === true)
    .map((trigger) => ({ ...positionOf(trigger), tag: head.slice(0, end), rest: after(call, end) }))
}

/** Headers: the part in front of the name, if it contains a special token; otherwise all of it. */
function messageTags({ calls }: RequiredCalls, { body }: MessageSyntax): readonly CallTag[] {
  return calls.map((call) => {
    const head = headOf(call)
    const name = head.indexOf(call.name)
    const end = head.slice(0, name).includes('<|') ? name : head.indexOf(body) + body.length
    return { tag: head.slice(0, end), position: 'anywhere', endsReasoning: true, rest: after(call, end) }
  })
}

/** Where several calls begin with the same tag, any of them may follow it. */
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

function positionOf({ tag, position, ...trigger }: Pick<Trigger, 'tag' | 'position' | 'endsReasoning'>): Omit<CallTag, 'rest'> {
  return { tag, position, endsReasoning: trigger.endsReasoning === 'constrained' }
}

function headOf({ pieces: [first] }: RequiredCall): string {
  return first?.type === 'text' ? first.text : ''
}

/** One call without the beginning of its head. */
function after(call: RequiredCall, length: number): RequiredCalls {
  const [, ...others] = call.pieces
  const pieces = [{ type: 'text' as const, text: headOf(call).slice(length) }, ...others]
  return { prefix: '', suffix: '', calls: [{ ...call, pieces }] }
}
