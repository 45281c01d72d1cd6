import type { EngineFacts } from '../contract/engine.ts'
import type { CanonicalPath } from '../contract/field.ts'
import type { GenerationRequest } from '../contract/request.ts'

const effortNames = /\b(reasoning_effort|thinking_effort|reasoning_strength)\b/
/** An effort switches thinking on. */
const switchNames =
  /(?<!\.)\b(enable_thinking|thinking_mode)\b(?!\s*=[^=])|\b(if|elif|not|and|or)\s+thinking\s*(-?%\}|(is|and|or)\b)/
/** What has a name that a template reads, such as `message.name` or `tool['name']`. */
const namedThings = /(\w+)\s*(?:\.\s*name\b|\[\s*['"]name['"]\s*\]|\.\s*get\(\s*['"]name['"])/g
/** Names of these are not those of messages. */
const notMessages = /tool|func|fn|call|param|arg|prop|schema|field|key|item/i

/** The places of a request that the model's chat template does not show to the model; none where the template is not known. */
export function ignoredByTemplate(
  { prompt, reasoning }: Pick<GenerationRequest, 'prompt' | 'reasoning'>,
  engine: { readonly facts: Pick<EngineFacts, 'chatTemplate'> },
): readonly CanonicalPath[] {
  if (prompt.type !== 'chat') return []
  const { effort } = reasoning
  const named = prompt.messages.findIndex(({ name }) => name !== undefined)
  // Facts are gathered when they are read, and most requests have neither.
  const chatTemplate = named === -1 && effort === undefined ? undefined : engine.facts.chatTemplate
  if (chatTemplate === undefined) return []
  const ignoresEffort =
    effort !== undefined && effort !== 'none' && ![effortNames, switchNames].some((names) => names.test(chatTemplate))
  return [
    ...(named !== -1 && !showsNames(chatTemplate) ? [['prompt', 'messages', named, 'name']] : []),
    ...(ignoresEffort ? [['reasoning', 'effort']] : []),
  ]
}

/** In doubt, they are shown. */
function showsNames(chatTemplate: string): boolean {
  return [...chatTemplate.matchAll(namedThings)].some(([, thing = '']) => !notMessages.test(thing))
}
