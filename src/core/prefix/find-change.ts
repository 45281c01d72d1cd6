import type { CanonicalPath } from '../../contract/field.ts'
import type { ChangeKind, PromptChange } from '../../contract/usage.ts'
import { difference, excerpt, kindOfChange, leastSimilarity, similarity } from './compare-texts.ts'
import type { Outline, OutlineMessage, OutlinePart } from './outline.ts'
import { commonLength, lengthOf, type Turn } from './turn.ts'

/** A turn; of `outline`, what is not known is absent. */
export type Known = { readonly turn: Turn; readonly outline?: Partial<Outline> | undefined }
export type Present = { readonly turn: Turn; readonly outline: Outline }

type Comparison = {
  readonly tokensPerChar: number
  /** Whether a template may print a setting before the end of a prompt. */
  isPrinted(setting: CanonicalPath): boolean
}

/** A change without its estimate; `sameChars`: what is equal of the part that differs. */
export type Found = Omit<PromptChange, 'missedTokens'> & { readonly sameChars?: number }

/** Where a prompt differs from an earlier one first, in the order of most templates; undefined: it continues it. */
export function findChange(before: Known, now: Present, { tokensPerChar, isPrinted }: Comparison): PromptChange | undefined {
  const found = findFirst(before, now, isPrinted)
  return found && withEstimate(found, before.turn, tokensPerChar)
}

/** With the tokens that follow the change in the earlier turn. */
export function withEstimate({ sameChars = 0, ...change }: Found, before: Turn, tokensPerChar: number): PromptChange {
  const missedChars = Math.max(0, charsBehind(before, change.at) - sameChars)
  return { ...change, missedTokens: Math.round(missedChars * tokensPerChar) }
}

function findFirst(before: Known, now: Present, isPrinted: Comparison['isPrinted']): Found | undefined {
  if (before.turn.model !== now.turn.model) return { at: ['model'], part: 'model', ...value(before.turn.model, now.turn.model) }
  if (before.turn.tools !== now.turn.tools) return findTool(before.outline?.tools, now.outline.tools)
  const common = commonLength(before.turn, now.turn)
  if (common < Math.min(before.turn.messages.length, now.turn.messages.length)) return findMessage(before, now, common)
  // Not every template prints them, and fewer at the beginning: what is known to differ is more likely to matter.
  if (before.turn.settings !== now.turn.settings) return findSetting(before.outline?.settings, now.outline.settings, isPrinted)
  return undefined
}

function value(before: string, now: string) {
  return { kind: 'value' as const, texts: excerpt(before, now) }
}

function findSetting(
  before: Outline['settings'] | undefined,
  now: Outline['settings'],
  isPrinted: Comparison['isPrinted'],
): Found | undefined {
  // It is not known which one differs, nor whether it is printed.
  if (before === undefined) return undefined
  const names = [...Object.keys(before), ...Object.keys(now)]
  const name = names.find((each) => before[each] !== now[each] && isPrinted(pathOf(each)))
  if (name === undefined) return undefined
  return { at: pathOf(name), part: 'setting', ...value(before[name] ?? '', now[name] ?? '') }
}

/** A variable's name may have dots. */
function pathOf(setting: string): CanonicalPath {
  const [first = '', second, ...rest] = setting.split('.')
  if (second === undefined) return [first]
  return rest.length === 0 ? [first, second] : [first, second, rest.join('.')]
}

function findTool(before: Outline['tools'] | undefined, now: Outline['tools']): Found {
  if (before === undefined) return { at: ['prompt', 'tools'], part: 'tool' }
  const jsonOf = (tools: Outline['tools']) => tools.map(({ json }) => json)
  const [old, current] = [jsonOf(before), jsonOf(now)]
  const index = firstDifference(old, current)
  const at: CanonicalPath = index < now.length ? ['prompt', 'tools', index] : ['prompt', 'tools']
  const sameChars = old.slice(0, index).join('\n').length
  const found = (kind: ChangeKind, texts: readonly [string, string]): Found => ({
    at,
    part: 'tool',
    kind,
    texts: excerpt(...texts),
    sameChars,
  })
  const namesOf = (tools: Outline['tools']) => tools.map(({ name }) => name).join('\n')
  if (isSameSet(old, current)) return found('order', [namesOf(before), namesOf(now)])
  const shift = shiftAt(old, current, index)
  if (shift === 'added') return found('added', ['', current[index] ?? ''])
  if (shift === 'removed') return found('removed', [old[index] ?? '', ''])
  const texts = [old[index] ?? '', current[index] ?? ''] as const
  const isNamedAlike = before[index]?.name === now[index]?.name
  return { ...found(isNamedAlike ? kindOfChange(...texts) : 'text', texts), sameChars: sameChars + difference(...texts).start }
}

function findMessage(before: Known, now: Present, index: number): Found {
  const place: CanonicalPath = ['prompt', 'messages', index]
  const [old, current] = [before.outline?.messages, now.outline.messages]
  const isLeading = current.slice(0, index + 1).every(({ role }) => role === 'system' || role === 'developer')
  const system = isLeading ? { isSystem: true as const } : {}
  const [first, second] = [old?.[index], current[index]]
  if (old === undefined || first === undefined || second === undefined) return { at: place, part: 'message', ...system }
  const isEdited = first.role === second.role && similarity(wordsOf(first), wordsOf(second)) >= leastSimilarity
  const shift = isEdited ? undefined : shiftAt(before.turn.messages, now.turn.messages, index)
  if (shift !== undefined) {
    const texts = shift === 'added' ? excerpt('', wordsOf(second)) : excerpt(wordsOf(first), '')
    return { at: place, part: 'message', kind: shift, texts, ...system }
  }
  if (first.role !== second.role || first.name !== second.name) {
    const texts = excerpt(wordsOf(first), wordsOf(second))
    return { at: place, part: 'message', kind: 'text', texts, ...system }
  }
  return { ...findPart(first.parts, second.parts, place, second.role), ...system }
}

function findPart(
  before: readonly OutlinePart[],
  now: readonly OutlinePart[],
  place: CanonicalPath,
  role: OutlineMessage['role'],
): Found {
  const keyOf = ({ type, text, id = '' }: OutlinePart) => JSON.stringify([type, text, id])
  const [old, current] = [before.map(keyOf), now.map(keyOf)]
  const index = firstDifference(old, current)
  const [first, second] = [before[index], now[index]]
  const at = second === undefined ? place : [...place, role === 'assistant' ? 'parts' : 'content', index]
  const sameChars = before.slice(0, index).reduce((sum, { text }) => sum + text.length, 0)
  const shift = shiftAt(old, current, index) ?? (first?.type === second?.type ? undefined : 'removed')
  if (shift === 'added' && second !== undefined)
    return { at, part: second.type, kind: shift, texts: excerpt('', second.text), sameChars }
  if (first === undefined || second === undefined || shift !== undefined) {
    const gone = first ?? { type: 'message' as const, text: '' }
    return { at: place, part: gone.type, kind: 'removed', texts: excerpt(gone.text, ''), sameChars }
  }
  if (first.text === second.text)
    return { at, part: first.type, kind: 'id', texts: excerpt(first.id ?? '', second.id ?? ''), sameChars }
  const isMedia = first.type === 'image' || first.type === 'audio' || first.type === 'video' || first.type === 'file'
  const kind = isMedia ? 'bytes' : kindOfChange(first.text, second.text)
  const same = isMedia ? 0 : difference(first.text, second.text).start
  return { at, part: first.type, kind, texts: excerpt(first.text, second.text), sameChars: sameChars + same }
}

function wordsOf({ parts }: OutlineMessage): string {
  return parts.map(({ text }) => text).join('\n')
}

function firstDifference(before: readonly string[], now: readonly string[]): number {
  let index = 0
  while (index < before.length && index < now.length && before[index] === now[index]) index += 1
  return index
}

/** Whether something was put in or taken out at an index: what follows it is then found a little later, here or there. */
function shiftAt<Item>(before: readonly Item[], now: readonly Item[], index: number): 'added' | 'removed' | undefined {
  const [first, second] = [before[index], now[index]]
  if (first === undefined) return 'added'
  if (second === undefined) return 'removed'
  if (findAgain(before, now, index)) return 'added'
  return findAgain(now, before, index) ? 'removed' : undefined
}

/** Beyond that, an equal item is one of several, such as another `continue`. */
const furthestShift = 3

/** Whether the items at an index follow a little later in another list. */
function findAgain<Item>(items: readonly Item[], others: readonly Item[], index: number): boolean {
  for (let shift = 1; shift <= furthestShift; shift++) {
    const isNext = others[index + shift + 1] === items[index + 1] || items.length === index + 1
    if (others[index + shift] === items[index] && isNext) return true
  }
  return false
}

function isSameSet(before: readonly string[], now: readonly string[]): boolean {
  const sorted = [...now].sort()
  return before.length === now.length && [...before].sort().every((item, index) => item === sorted[index])
}

/** The characters of a turn from a place on. */
function charsBehind({ tools, messages }: Turn, [, list, index]: CanonicalPath): number {
  const from = list === 'messages' && typeof index === 'number' ? index : 0
  const behind = messages.slice(from).reduce((sum, hash) => sum + lengthOf(hash), 0)
  return list === 'messages' ? behind : behind + lengthOf(tools)
}

/** The characters of a prompt. */
export function charsOf(turn: Turn): number {
  return charsBehind(turn, [])
}
