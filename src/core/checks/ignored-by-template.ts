import type { EngineFacts } from '../../contract/engine.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import type { GenerationRequest, Prompt } from '../../contract/request.ts'

type ChatPrompt = Extract<Prompt, { type: 'chat' }>

const effortNames = /\b(reasoning_effort|thinking_effort|reasoning_strength)\b/
/** An effort switches thinking on. */
const switchNames =
  /(?<!\.)\b(enable_thinking|thinking_mode)\b(?!\s*=[^=])|\b(if|elif|not|and|or)\s+thinking\s*(-?%\}|(is|and|or)\b)/
/** What switches thinking besides; in doubt, a word that is no member of a message is a variable. */
const otherSwitchNames = /(?<![\w.'"</])thinking(_budget)?\b/
const preserveNames = /\b(preserve_thinking|clear_thinking|keep_past_thinking|truncate_history_thinking)\b/
/** What has a name that a template reads, such as `message.name` or `tool['name']`. */
const namedThings = /(\w+)\s*(?:\.\s*name\b|\[\s*['"]name['"]\s*\]|\.\s*get\(\s*['"]name['"])/g
/** Names of these are not those of messages. */
const notMessages = /tool|func|fn|call|param|arg|prop|schema|field|key|item/i

/** The places of a request that the model's chat template does not show to the model; none where the template is not known. */
export function ignoredByTemplate(
  { prompt, reasoning }: Pick<GenerationRequest, 'prompt' | 'reasoning'>,
  engine: { readonly facts: Pick<EngineFacts, 'chatTemplate' | 'chatTemplateName'> },
): readonly CanonicalPath[] {
  if (prompt.type !== 'chat') return []
  const { effort, preserve } = reasoning
  const isSwitched = asksToThink(reasoning)
  const variables = Object.keys(prompt.templateVariables)
  // The name of a result says whose it is, which templates know from the call.
  const named = prompt.messages.findIndex(({ role, name }) => name !== undefined && role !== 'tool')
  const isAsked = named !== -1 || effort !== undefined || preserve !== undefined || isSwitched || variables.length > 0
  // Facts are gathered when they are read, and most requests have nothing of it.
  const chatTemplate = isAsked ? sourceFor(prompt, engine)?.replace(/\{#.*?#\}/gs, '') : undefined
  if (chatTemplate === undefined) return []
  const reads = (...names: readonly RegExp[]) => names.some((one) => one.test(chatTemplate))
  const ignoresEffort = effort !== undefined && effort !== 'none' && !reads(effortNames, switchNames)
  return [
    ...(named !== -1 && !showsNames(chatTemplate) ? [['prompt', 'messages', named, 'name']] : []),
    ...(ignoresEffort ? [['reasoning', 'effort']] : []),
    ...(isSwitched && !reads(switchNames, otherSwitchNames, effortNames) ? [['reasoning', 'enabled']] : []),
    ...(preserve !== undefined && !reads(preserveNames) ? [['reasoning', 'preserve']] : []),
    ...variables.filter((name) => !chatTemplate.includes(name)).map((name) => ['prompt', 'templateVariables', name]),
  ]
}

/** Of the template that renders the prompt. */
function sourceFor(
  { template }: ChatPrompt,
  { facts }: { readonly facts: Pick<EngineFacts, 'chatTemplate' | 'chatTemplateName'> },
): string | undefined {
  if (typeof template === 'object' && template.type === 'named') return template.source
  const { chatTemplate, chatTemplateName } = facts
  return template !== undefined && chatTemplateName !== undefined ? undefined : chatTemplate
}

/** Whether a caller turned thinking on or off, not by an effort. Off is also what a protocol means by saying nothing. */
function asksToThink({ enabled, effort, isWish }: GenerationRequest['reasoning']): boolean {
  return enabled !== undefined && effort === undefined && !(enabled === false && isWish === true)
}

/** In doubt, they are shown. */
function showsNames(chatTemplate: string): boolean {
  return [...chatTemplate.matchAll(namedThings)].some(([, thing = '']) => !notMessages.test(thing))
}
