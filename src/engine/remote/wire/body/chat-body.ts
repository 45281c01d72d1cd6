import { given } from '../../../../base/json.ts'
import { argumentsSchema, callableTools, functionTools } from '../../../../canonical/callable-tools.ts'
import type { ChatPrompt, FunctionTool, GenerationRequest, Message } from '../../../../contract/request.ts'
import type { CompiledGrammar } from '../../../../grammar/grammar-builder.ts'
import { reasoningVariables } from '../../../../model-text/template/reasoning-variables.ts'
import { templateOf } from '../../../shared/template-choice.ts'
import type { Profile } from '../../servers/profile.ts'
import type { Upstream } from '../../servers/upstream.ts'
import { callsBesideStructure, callsByGrammar } from './call-grammar.ts'
import { toWireMessages } from './chat-messages.ts'
import { defaultLimit } from './default-limit.ts'
import { constraintField, type OutputFields, outputFields } from './output-fields.ts'
import { budgetFields } from './reasoning-budget.ts'
import { prefixMessages } from './response-prefix.ts'
import { sharedFields, streamOptions, topLogprobs, unsupported } from './sampling-fields.ts'
import { shownPrompt } from './shown-prompt.ts'
import { refuseNames } from './speaker-names.ts'
import { templateField } from './template-field.ts'
import { hasOldTuples, wireSchema } from './wire-schema.ts'

/** A request to an upstream, and how strictly it constrains the output. */
export type UpstreamBody = Pick<OutputFields, 'structured'> & {
  readonly path: '/chat/completions' | '/completions' | '/responses' | '/messages'
  readonly body: Readonly<Record<string, unknown>>
}

/** A conversation as a request for `/chat/completions`, always streamed. Throws for features that the server lacks, by name. */
export function chatBody(
  request: GenerationRequest,
  asked: ChatPrompt,
  upstream: Upstream,
  grammar?: CompiledGrammar,
): UpstreamBody {
  const { profile, model } = upstream
  const prompt = shownPrompt(asked, profile)
  if (profile.refusesNames === true) refuseNames(prompt.messages, profile)
  if (callsByGrammar(request, profile)) return callBody(request, prompt, upstream, grammar)
  if (callsBesideStructure(request, profile)) return bodyWithCalls(request, prompt, upstream, grammar)
  // A required call leaves no text for a structure, of which some servers would give nothing else.
  const isCall = request.toolChoice.type === 'required' && callableTools(prompt.tools, request.toolChoice).length > 0
  const { fields, structured }: OutputFields = isCall ? { fields: {} } : outputFields(request, profile, grammar)
  return {
    path: '/chat/completions',
    body: {
      model,
      messages: toWireMessages(messagesWithPrefix(prompt, profile), profile),
      stream: true,
      stream_options: streamOptions(profile),
      ...defaultLimit(upstream),
      ...sharedFields(request, profile),
      ...fields,
      ...toolFields(request, functionTools(prompt.tools), profile),
      ...reasoningFields(request, prompt, upstream),
      ...startFields(prompt, profile),
      ...templateField(prompt, profile),
      ...logprobFields(request, profile),
    },
    ...(structured !== undefined && { structured }),
  }
}

/** A request for one call, which our grammar enforces. */
function callBody(request: GenerationRequest, prompt: ChatPrompt, upstream: Upstream, grammar?: CompiledGrammar): UpstreamBody {
  const { profile } = upstream
  const { path, body } = chatBody(
    { ...request, toolChoice: { type: 'none' }, output: { type: 'text' }, ignoreEos: false },
    prompt,
    upstream,
  )
  const tools = callableTools(prompt.tools, request.toolChoice).map((tool) => toWireTool(tool, profile))
  const variables = body.chat_template_kwargs as Readonly<Record<string, unknown>> | undefined
  const constraint = grammar === undefined || profile.gbnf === undefined ? {} : constraintField(profile.gbnf, grammar.grammar)
  const enforced = grammar === undefined || request.output.type === 'text' ? {} : { structured: grammar.enforcement }
  return { path, body: { ...body, chat_template_kwargs: { ...variables, tools }, ...constraint }, ...enforced }
}

/** A request for the structure or a call, by one grammar. A strict tool would end that. */
function bodyWithCalls(
  request: GenerationRequest,
  asked: ChatPrompt,
  upstream: Upstream,
  grammar?: CompiledGrammar,
): UpstreamBody {
  const { gbnf } = upstream.profile
  const prompt = { ...asked, tools: functionTools(asked.tools).map(({ strict: _, ...tool }) => tool) }
  const { path, body } = chatBody({ ...request, output: { type: 'text' }, ignoreEos: false }, prompt, upstream)
  if (grammar === undefined || gbnf === undefined) return { path, body }
  return { path, body: { ...body, ...constraintField(gbnf, grammar.grammar) }, structured: grammar.enforcement }
}

/** The conversation with the beginning of the answer. */
function messagesWithPrefix(prompt: ChatPrompt, profile: Profile): readonly Message[] {
  if (prompt.responsePrefix === '') return prompt.messages
  if (profile.continuation === undefined) throw unsupported(profile, ['prompt', 'responsePrefix'])
  return [...prompt.messages, ...prefixMessages(prompt)]
}

function startFields({ start, responsePrefix }: ChatPrompt, profile: Profile): Record<string, unknown> {
  switch (start) {
    case 'bare':
      if (profile.continuation !== 'fields') throw unsupported(profile, ['prompt', 'start'])
      return { add_generation_prompt: false }
    case 'new-turn':
      if (responsePrefix === '') return {}
      break
    case 'last-message':
      if (profile.continuation === undefined) throw unsupported(profile, ['prompt', 'start'])
      break
  }
  return profile.continuation === 'fields' ? { continue_final_message: true, add_generation_prompt: false } : {}
}

function toolFields(
  { toolChoice, parallelToolCalls }: GenerationRequest,
  declared: readonly FunctionTool[],
  profile: Profile,
): Record<string, unknown> {
  if (declared.length === 0 || toolChoice.type === 'none') return {}
  const { names } = toolChoice
  if (names !== undefined && profile.takesAllowedTools === true) {
    const [mode, allowed] = [toolChoice.type, names.map((name) => ({ type: 'function', function: { name } }))]
    const tool_choice = { type: 'allowed_tools', allowed_tools: { mode, tools: allowed } }
    return { tools: declared.map((tool) => toWireTool(tool, profile)), tool_choice, parallel_tool_calls: parallelToolCalls }
  }
  // Only the callable tools are shown: few servers understand a list of allowed names.
  const tools = callableTools(declared, toolChoice)
  if (toolChoice.type === 'required' && profile.toolChoice === 'none') throw unsupported(profile, ['toolChoice'])
  const parallel = profile.parallelToolCalls ? { parallel_tool_calls: parallelToolCalls } : {}
  const only = tools.length === 1 ? tools[0] : undefined
  const choice =
    toolChoice.type === 'auto'
      ? 'auto'
      : only !== undefined && names !== undefined && profile.toolChoice === 'full'
        ? { type: 'function', function: { name: only.name } }
        : 'required'
  const isRequired = toolChoice.type === 'required'
  return { tools: tools.map((tool) => toWireTool(tool, profile, isRequired)), tool_choice: choice, ...parallel }
}

function toWireTool(
  { name, description, parameters, strict }: FunctionTool,
  profile: Profile,
  isRequired = false,
): Record<string, unknown> {
  const schema = argumentsSchema({ parameters })
  const isHeld = isRequired && profile.holdsStrictOnly === true && !hasOldTuples(schema)
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters: wireSchema(schema, { isStrict: profile.refusesUnknownSchemas === true || isHeld }),
      ...((strict === true || isHeld) && { strict: true }),
    },
  }
}

function reasoningFields(
  { reasoning }: GenerationRequest,
  prompt: ChatPrompt,
  { profile, thinkingSwitch, isThinkingOff }: Upstream,
): Record<string, unknown> {
  const { templateVariables } = prompt
  const effort = reasoning.effort === undefined ? {} : { reasoning_effort: reasoning.effort }
  const { budgetTokens = 0, isWish } = reasoning
  const budget = budgetFields(reasoning, profile)
  if (!profile.templateVariables) {
    const verbosity = verbosityField(templateVariables, profile)
    if (reasoning.preserve !== undefined && isWish !== true) throw unsupported(profile, ['reasoning', 'preserve'])
    // A model that does not reason refuses an effort.
    if (isWish === true || (reasoning.enabled === undefined && reasoning.budgetTokens === undefined))
      return { ...effort, ...verbosity }
    // The only switch that such servers have.
    if (reasoning.enabled === true) return { reasoning_effort: reasoning.effort ?? 'medium', ...verbosity }
    return { reasoning_effort: 'none', ...verbosity }
  }
  // In its own fields: in front of a server without template variables, it writes them in the words of that server.
  if (profile.name === 'dragoman' && isWish !== true) {
    const { enabled, preserve } = reasoning
    const variables = Object.keys(templateVariables).length > 0 && { chat_template_kwargs: templateVariables }
    return { ...effort, ...budget, ...given({ enable_thinking: enabled, preserve_thinking: preserve }), ...variables }
  }
  // A budget of 0 switches thinking off.
  const wanted = reasoning.budgetTokens === 0 ? { ...reasoning, enabled: false, budgetTokens: undefined } : reasoning
  const { budgetTokens: _, budgetMessage: __, ...rest } = wanted
  const isOpen = rest.enabled === undefined && rest.effort === undefined && budgetTokens === 0
  const said = isThinkingOff === true && isOpen ? { ...rest, enabled: false } : rest
  const variables = {
    ...reasoningVariables(said, templateOf(prompt) === undefined ? thinkingSwitch : undefined),
    ...templateVariables,
  }
  return { ...effort, ...budget, ...(Object.keys(variables).length > 0 && { chat_template_kwargs: variables }) }
}

/** The one template variable that is a field of OpenAI's. */
function verbosityField({ verbosity, ...others }: ChatPrompt['templateVariables'], profile: Profile): Record<string, unknown> {
  if (Object.keys(others).length > 0) throw unsupported(profile, ['prompt', 'templateVariables'])
  if (verbosity === undefined) return {}
  if (profile.verbosity !== true) throw unsupported(profile, ['prompt', 'templateVariables', 'verbosity'])
  return { verbosity }
}

function logprobFields({ logprobs }: GenerationRequest, profile: Profile): Record<string, unknown> {
  if (logprobs === undefined) return {}
  const top = topLogprobs(logprobs, profile)
  return profile.countsLogprobs === true ? { logprobs: top } : { logprobs: true, top_logprobs: top }
}
