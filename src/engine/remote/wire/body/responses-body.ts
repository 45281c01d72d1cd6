import { argumentsSchema, callableTools, functionTools } from '../../../../canonical/callable-tools.ts'
import type { ChatPrompt, FunctionTool, GenerationRequest, Message } from '../../../../contract/request.ts'
import type { CompiledGrammar } from '../../../../grammar/grammar-builder.ts'
import { reasoningVariables } from '../../../../model-text/template/reasoning-variables.ts'
import type { Profile } from '../../servers/profile.ts'
import type { Upstream } from '../../servers/upstream.ts'
import type { UpstreamBody } from './chat-body.ts'
import { outputFields } from './output-fields.ts'
import { budgetFields } from './reasoning-budget.ts'
import { toItems } from './responses-items.ts'
import { sharedFields, unsupported } from './sampling-fields.ts'
import { shownPrompt } from './shown-prompt.ts'
import { templateField } from './template-field.ts'
import { wireSchema } from './wire-schema.ts'

/** A conversation as a streamed request for `/responses`, which stores nothing. Throws for features that the server lacks, by name. */
export function responsesBody(
  request: GenerationRequest,
  asked: ChatPrompt,
  upstream: Upstream,
  grammar?: CompiledGrammar,
): UpstreamBody {
  const { profile, model } = upstream
  const prompt = shownPrompt(asked, profile)
  refuseUnknown(request, prompt, profile)
  const { fields, structured } = outputFields(request, profile, grammar)
  const include = included(request, prompt, profile)
  return {
    path: '/responses',
    body: {
      model,
      input: toItems(prompt.messages, profile),
      stream: true,
      store: false,
      ...sharedFields(request, profile),
      ...textFields(fields, prompt, profile),
      ...toolFields(request, functionTools(prompt.tools)),
      ...reasoningFields(request, prompt, upstream),
      ...(request.logprobs !== undefined && { top_logprobs: request.logprobs.top }),
      ...(include.length > 0 && { include }),
    },
    ...(structured !== undefined && { structured }),
  }
}

/** The fields of a body that the count of its tokens depends on. */
export function countableResponse({ body }: UpstreamBody): Readonly<Record<string, unknown>> {
  const { model, input, tools, tool_choice, reasoning, text } = body
  const optional = { tools, tool_choice, reasoning, text }
  return { model, input, ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)) }
}

function refuseUnknown({ reasoning }: GenerationRequest, prompt: ChatPrompt, profile: Profile): void {
  templateField(prompt, profile)
  if (prompt.start !== 'new-turn') throw unsupported(profile, ['prompt', 'start'])
  if (prompt.responsePrefix !== '') throw unsupported(profile, ['prompt', 'responsePrefix'])
  const { preserve, isWish } = reasoning
  const { verbosity: _, ...others } = prompt.templateVariables
  if (profile.templateVariables) return
  if (preserve !== undefined && isWish !== true) throw unsupported(profile, ['reasoning', 'preserve'])
  if (Object.keys(others).length > 0) throw unsupported(profile, ['prompt', 'templateVariables'])
}

/** Models that do not reason refuse encrypted reasoning, so it is requested only if reasoning is. */
function included(
  { reasoning, logprobs }: GenerationRequest,
  { messages }: ChatPrompt,
  { responses }: Profile,
): readonly string[] {
  const { enabled, effort, isWish } = reasoning
  const isAsked = (enabled === true && isWish !== true) || (effort !== undefined && effort !== 'none')
  const encrypts = responses?.encryptsAlways === true || isAsked || messages.some(hasEncrypted)
  return [
    ...(encrypts ? ['reasoning.encrypted_content'] : []),
    ...(logprobs === undefined ? [] : ['message.output_text.logprobs']),
  ]
}

function hasEncrypted(message: Message): boolean {
  return message.role === 'assistant' && message.parts.some((part) => part.type === 'reasoning' && part.opaque !== undefined)
}

/** The format of the text shares one object with its verbosity. */
function textFields(
  { text, ...others }: Readonly<Record<string, unknown>>,
  { templateVariables: { verbosity } }: ChatPrompt,
  profile: Profile,
): Record<string, unknown> {
  const isField = verbosity !== undefined && !profile.templateVariables
  const merged = { ...(typeof text === 'object' && text), ...(isField && { verbosity }) }
  return { ...others, ...(Object.keys(merged).length > 0 && { text: merged }) }
}

function toolFields(
  { toolChoice, parallelToolCalls }: GenerationRequest,
  declared: readonly FunctionTool[],
): Record<string, unknown> {
  if (declared.length === 0) return {}
  if (toolChoice.type === 'none') return { tools: declared.map(toWireTool), tool_choice: 'none' }
  const tools = callableTools(declared, toolChoice)
  const [only] = tools
  const isNamed = toolChoice.type === 'required' && toolChoice.names !== undefined && tools.length === 1
  return {
    tools: tools.map(toWireTool),
    tool_choice: isNamed ? { type: 'function', name: only?.name } : toolChoice.type,
    parallel_tool_calls: parallelToolCalls,
  }
}

/** Without `strict`, this protocol would make every schema strict. */
function toWireTool({ name, description, parameters, strict = false }: FunctionTool): Record<string, unknown> {
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    parameters: wireSchema(argumentsSchema({ parameters }), { isStrict: false }),
    strict,
  }
}

/** Thoughts are shown only as a summary, and only if the request asks for thinking. */
function reasoningFields(
  { reasoning }: GenerationRequest,
  { templateVariables }: ChatPrompt,
  { profile, thinkingSwitch }: Upstream,
): Record<string, unknown> {
  const { effort, enabled, budgetTokens, isWish } = reasoning
  const isOff = enabled === false || budgetTokens === 0
  const budget = budgetFields(reasoning, profile)
  if (profile.templateVariables) {
    const { budgetTokens: _, budgetMessage: __, ...rest } = isOff ? { ...reasoning, enabled: false } : reasoning
    const variables = { ...reasoningVariables(rest, thinkingSwitch), ...templateVariables }
    return {
      ...(effort !== undefined && { reasoning: { effort } }),
      ...budget,
      ...(Object.keys(variables).length > 0 && { chat_template_kwargs: variables }),
    }
  }
  // A model that does not reason refuses all of it.
  if (isWish === true) return effort === undefined ? {} : { reasoning: { effort } }
  if (isOff) return { reasoning: { effort: 'none' } }
  const fields = { ...(effort !== undefined && { effort }), ...(enabled === true && { summary: 'auto' }) }
  return Object.keys(fields).length > 0 ? { reasoning: fields } : {}
}
