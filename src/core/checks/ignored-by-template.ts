import type { EngineFacts } from '../../contract/engine.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import type { ChatPrompt, GenerationRequest } from '../../contract/request.ts'

const effortNames = /\b(reasoning_effort|thinking_effort|reasoning_strength)\b/
/** Names of variables that switch thinking on; an effort does, too. */
const switchNames =
  /(?<!\.)\b(enable_thinking|thinking_mode)\b(?!\s*=[^=])|\b(if|elif|not|and|or)\s+thinking\s*(-?%\}|(is|and|or)\b)/
/** Other names of the switch; in doubt, a word that is not a member of a message counts as a variable. */
const otherSwitchNames = /(?<![\w.'"</])thinking(_budget)?\b/
const preserveNames = /\b(preserve_thinking|clear_thinking|keep_past_thinking|truncate_history_thinking)\b/
/** The subject of a `name` that a template reads, such as `message.name` or `tool['name']`. */
const namedThings = /(\w+)\s*(?:\.\s*name\b|\[\s*['"]name['"]\s*\]|\.\s*get\(\s*['"]name['"])/g
/** A `name` of these is not that of a message. */
const notMessages = /tool|func|fn|call|param|arg|prop|schema|field|key|item/i

/** The places of a request that the model's chat template does not show to the model; none if the template is unknown. */
export function ignoredByTemplate(
  { prompt, reasoning }: Pick<GenerationRequest, 'prompt' | 'reasoning'>,
  engine: { readonly facts: Pick<EngineFacts, 'chatTemplate' | 'chatTemplateName'> },
): readonly CanonicalPath[] {
  if (prompt.type !== 'chat') return []
  const { effort, preserve } = reasoning
  const isSwitched = asksToThink(reasoning)
  const variables = Object.keys(prompt.templateVariables)
  // The name of a result repeats its call's, which templates know.
  const named = prompt.messages.findIndex(({ role, name }) => name !== undefined && role !== 'tool')
  const isAsked = named !== -1 || effort !== undefined || preserve !== undefined || isSwitched || variables.length > 0
  // Checked first: few requests have such fields, and facts are computed when read.
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

/** Whether the template may print a setting of a request before the end of a prompt, where the output begins; true if it is unknown. */
export function mayPrint(
  [first, field, name]: CanonicalPath,
  prompt: ChatPrompt,
  engine: { readonly facts: Pick<EngineFacts, 'chatTemplate' | 'chatTemplateName'> },
): boolean {
  const source = sourceFor(prompt, engine)?.replace(/\{#.*?#\}/gs, '')
  if (source === undefined || first === 'toolChoice' || field === 'template') return true
  const end = source.lastIndexOf('add_generation_prompt')
  const before = end === -1 ? source : source.slice(0, end)
  if (field === 'templateVariables') return typeof name === 'string' && before.includes(name)
  if (field === 'preserve') return preserveNames.test(before)
  return [switchNames, otherSwitchNames, effortNames].some((one) => one.test(before))
}

/** The source of the template that renders the prompt; undefined: it is unknown. */
export function sourceFor(
  { template }: ChatPrompt,
  { facts }: { readonly facts: Pick<EngineFacts, 'chatTemplate' | 'chatTemplateName'> },
): string | undefined {
  if (typeof template === 'object' && template.type === 'named') return template.source
  const { chatTemplate, chatTemplateName } = facts
  return template !== undefined && chatTemplateName !== undefined ? undefined : chatTemplate
}

/** Whether a caller explicitly turned thinking on or off. An effort does not count, nor does a protocol's default for an absent field. */
function asksToThink({ enabled, effort, isWish }: GenerationRequest['reasoning']): boolean {
  return enabled !== undefined && effort === undefined && !(enabled === false && isWish === true)
}

/** In doubt, names count as shown. */
function showsNames(chatTemplate: string): boolean {
  return [...chatTemplate.matchAll(namedThings)].some(([, thing = '']) => !notMessages.test(thing))
}
