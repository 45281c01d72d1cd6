import { argumentsSchema, callableTools, functionTools } from '../../../../canonical/callable-tools.ts'
import type { ChatPrompt, FunctionTool, GenerationRequest, Message } from '../../../../contract/request.ts'
import type { Profile } from '../../servers/profile.ts'
import type { Upstream } from '../../servers/upstream.ts'
import type { UpstreamBody } from './chat-body.ts'
import { safeLimit } from './default-limit.ts'
import { blocksOrText } from './messages-blocks.ts'
import { toMessages } from './messages-turns.ts'
import { outputFields } from './output-fields.ts'
import { prefixMessages } from './response-prefix.ts'
import { sharedFields, unsupported } from './sampling-fields.ts'
import { shownPrompt } from './shown-prompt.ts'
import { templateField } from './template-field.ts'
import { wireSchema } from './wire-schema.ts'

/** A conversation as a streamed request for `/messages`. Throws for features that the protocol or the server lacks, by name. */
export function messagesBody(request: GenerationRequest, asked: ChatPrompt, upstream: Upstream): UpstreamBody {
  const { profile, model } = upstream
  const prompt = shownPrompt(asked, profile)
  refuseUnknown(request, prompt, profile)
  const { fields, structured } = outputFields(request, profile)
  const { system, messages } = toMessages([...prompt.messages, ...prefixMessages(prompt)] satisfies Message[], profile)
  const { effort } = request.reasoning
  // `none` has switched thinking off.
  const output = { ...(effort !== undefined && effort !== 'none' && { effort }), ...fields }
  return {
    path: '/messages',
    body: {
      model,
      // The protocol requires it.
      max_tokens: safeLimit(upstream),
      ...(system.length > 0 && { system: blocksOrText(system) }),
      messages,
      stream: true,
      ...sharedFields(sendable(request), profile),
      ...toolFields(request, functionTools(prompt.tools)),
      ...thinkingFields(request, profile),
      ...(Object.keys(output).length > 0 && { output_config: output }),
      ...metadataField(request),
    },
    ...(structured !== undefined && { structured }),
  }
}

/** The fields of a body that the count of its tokens depends on. */
export function countableBody({ body }: UpstreamBody): Readonly<Record<string, unknown>> {
  const { model, system, messages, tools, tool_choice, thinking } = body
  const optional = { system, tools, tool_choice, thinking }
  return { model, messages, ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)) }
}

function refuseUnknown({ reasoning, logprobs }: GenerationRequest, prompt: ChatPrompt, profile: Profile): void {
  templateField(prompt, profile)
  if (logprobs !== undefined) throw unsupported(profile, ['logprobs'])
  if (reasoning.preserve !== undefined && reasoning.isWish !== true) throw unsupported(profile, ['reasoning', 'preserve'])
  if (prompt.start === 'bare') throw unsupported(profile, ['prompt', 'start'])
  const [variable] = Object.keys(prompt.templateVariables)
  if (variable !== undefined) throw unsupported(profile, ['prompt', 'templateVariables', variable])
}

/** A stop sequence of white space would be refused, so it is searched here. */
function sendable(request: GenerationRequest): GenerationRequest {
  return { ...request, stop: request.stop.filter((sequence) => sequence.trim() !== '') }
}

function toolFields(
  { toolChoice, parallelToolCalls }: GenerationRequest,
  declared: readonly FunctionTool[],
): Record<string, unknown> {
  if (declared.length === 0) return {}
  // A conversation with calls needs the tools, even if none may be called.
  if (toolChoice.type === 'none') return { tools: declared.map(toWireTool), tool_choice: { type: 'none' } }
  const tools = callableTools(declared, toolChoice)
  const [only] = tools
  const isNamed = toolChoice.type === 'required' && toolChoice.names !== undefined && tools.length === 1
  return {
    tools: tools.map(toWireTool),
    tool_choice: {
      ...(isNamed ? { type: 'tool', name: only?.name } : { type: toolChoice.type === 'required' ? 'any' : 'auto' }),
      ...(!parallelToolCalls && { disable_parallel_tool_use: true }),
    },
  }
}

function toWireTool({ name, description, parameters, strict }: FunctionTool): Record<string, unknown> {
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: wireSchema(argumentsSchema({ parameters }), { isStrict: false }),
    ...(strict === true && { strict }),
  }
}

function thinkingFields({ reasoning }: GenerationRequest, profile: Profile): Record<string, unknown> {
  const { messages } = profile
  const { enabled, budgetTokens, budgetMessage } = reasoning
  if (budgetMessage !== undefined) throw unsupported(profile, ['reasoning', 'budgetMessage'])
  if (enabled === false || budgetTokens === 0) return { thinking: { type: 'disabled' } }
  if (budgetTokens !== undefined) return { thinking: { type: 'enabled', budget_tokens: budgetTokens } }
  const type = enabled === true ? messages?.freeThinking : messages?.openThinking
  return type === undefined ? {} : { thinking: { type } }
}

/** The only field of Messages about the caller. */
function metadataField({ forwarded: { user, safetyIdentifier } = {} }: GenerationRequest): Record<string, unknown> {
  const user_id = user ?? safetyIdentifier
  return user_id === undefined ? {} : { metadata: { user_id } }
}
