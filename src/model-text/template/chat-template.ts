import { isFunctionTool, listedTools } from '../../canonical/callable-tools.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import type { ChatPrompt, FunctionTool, JsonObject, ReasoningOptions, ToolChoice } from '../../contract/request.ts'
import { compileJinja, type JinjaTemplate } from '../../jinja/jinja-template.ts'
import { asForeignData } from '../../jinja/texts/from-json.ts'
import { strftime } from '../../jinja/texts/strftime.ts'
import type { Limits } from '../../jinja/values/budget.ts'
import { asForeign, plainText } from '../../jinja/values/foreign-text.ts'
import { JinjaError } from '../../jinja/values/jinja-error.ts'
import { recogniseReasoning } from '../formats/recognise-reasoning.ts'
import { recogniseToolFormat } from '../formats/recognise-tool-format.ts'
import { findToolFormat } from '../formats/tool-formats.ts'
import { historyVariants, openWithUser } from './adapt-history.ts'
import { type ContinuedPrompt, continueLastMessage, endsInside } from './continue-message.ts'
import { createToolDescriber } from './describe-tools.ts'
import { normalizeMessages } from './normalize-messages.ts'
import { reasoningVariables } from './reasoning-variables.ts'
import { showTool } from './show-tools.ts'
import { describeTool, encodeMessages, encodeTools, spellIds } from './template-messages.ts'
import { type ProbeInput, probeTraits, type TemplateTraits } from './template-traits.ts'
import { type TemplateTurn, toMessage, toTurns } from './turn.ts'

/** The texts of the special tokens that templates may print. */
export type TemplateTokens = Readonly<Partial<Record<'bos' | 'eos' | 'pad' | 'unk', string | undefined>>>

type RenderOptions = {
  readonly reasoning?: ReasoningOptions
  /** With `none`, the tools are not shown: the model may not call them. */
  readonly toolChoice?: ToolChoice
}

/** A prompt's text, and the state in which the model continues it. */
export type RenderedPrompt = {
  readonly text: string
  /** The text with the origin of its characters, which `splitPrompt` reads. */
  readonly traced: string
  /** The prompt ends inside a block of reasoning, which the model continues. */
  readonly startsInReasoning: boolean
}

/** A model's chat template, compiled and probed once. */
export type ChatTemplate = {
  readonly source: string
  readonly traits: TemplateTraits
  /**
   * The prompt up to the start of the model's answer (see `start` and `responsePrefix` of the prompt). Tools that the template
   * does not render are described in the system message. Throws `template-failed` with the template's own message, or
   * `invalid-request` for a last message that cannot be continued.
   */
  render(prompt: ChatPrompt, options?: RenderOptions): RenderedPrompt
  /**
   * The conversation, and its tools with their schemas and descriptions, as `render` would pass them to the template: for a server that
   * renders with the same template, and shows tools itself. Throws as `render` does.
   */
  heal(prompt: ChatPrompt, options?: RenderOptions): ChatPrompt
}

type CompileOptions = {
  /** The name of the format of calls; by default it is recognized from the template. */
  readonly toolFormat?: string | undefined
  /** The tags around reasoning; by default they are recognized from the template. */
  readonly reasoning?: OutputFormat['reasoning'] | undefined
  /** The clock of `strftime_now`. */
  readonly now?: () => Date
}

/** No template needs more for a conversation of three messages; an endless loop must not delay loading the model. */
const probeLimits: Limits = { steps: 200_000, memory: 1 << 22 }

/** The limits for a tool's declaration: some templates print schemas without end. */
function toolLimits(tool: FunctionTool): Limits {
  const { length } = JSON.stringify(tool)
  return { steps: probeLimits.steps + 32 * length, memory: probeLimits.memory + 256 * length }
}

/**
 * Compiles a Jinja chat template as defined by Hugging Face `transformers` (`apply_chat_template`), and renders small
 * conversations to find out what it supports. Throws `template-failed` for a template that does not parse.
 */
export function compileChatTemplate(
  source: string,
  tokens: TemplateTokens,
  {
    now = () => new Date(),
    toolFormat: formatName = recogniseToolFormat(source),
    reasoning: tags = recogniseReasoning(source),
  }: CompileOptions = {},
): ChatTemplate {
  // Templates of GGUF files are made for llama.cpp; some depend on operations that only it allows.
  const template = parse(source, { rules: 'llama.cpp', now })
  const renderInput = (input: ProbeInput, limits?: Limits) => template.render(variablesOf(input, { tokens, now }), limits)
  const traits = probeTraits((input) => plainText(renderInput(input, probeLimits)), template.names)
  const format = findToolFormat(formatName)
  // Tools and calls that the template does not show are written in the model's own format.
  const isWritten = !traits.tools || traits.resultsAlone
  const describer = isWritten && format !== undefined ? createToolDescriber(format, { keywords: traits.tools }) : undefined
  const declareAlone = (tool: FunctionTool) => {
    const messages = encodeMessages([{ role: 'user', content: [] }], traits)
    const { functionsAsText } = traits
    const input = { messages, tools: encodeTools([tool], traits), variables: {}, generationPrompt: true, functionsAsText }
    try {
      return renderInput(input, toolLimits(tool))
    } catch {
      // A failure here means that the template does not show the tool in this form.
      return undefined
    }
  }
  /** Renders turns of a conversation. `declares`: tools that the template does not show are described in a message. */
  const rendererOf = (prompt: ChatPrompt, { reasoning = {}, toolChoice }: RenderOptions) => {
    const isShown = prompt.toolFormat === undefined && toolChoice?.type !== 'none'
    const declared = isShown ? listedTools(prompt.tools) : []
    refuseReserved(prompt.templateVariables)
    const variables = {
      ...foreignEffort(reasoningVariables(reasoning, traits.thinkingSwitch), reasoning),
      ...foreignMembers(prompt.templateVariables),
    }
    const shown = traits.anySchema || !traits.tools ? declared : declared.map((tool) => showTool(tool, declareAlone))
    const tools = encodeTools(shown, traits)
    const { functionsAsText } = traits
    const renderTurns = (messages: readonly TemplateTurn[], { generationPrompt, declares }: TurnOptions) => {
      const declare = (given: readonly TemplateTurn[]) =>
        (declares && declared.length > 0 && !traits.tools && describer?.declare(given, declared)) || given
      const input = { tools: tools.length > 0 ? tools : traits.noTools, variables, generationPrompt, functionsAsText }
      const opened = needsOpening(traits, tools) ? openWithUser(messages) : messages
      return renderAny(historyVariants(opened), (given) => {
        const turns = normalizeMessages(declare(given), traits, describer)
        return { turns, text: renderInput({ ...input, messages: encodeMessages(turns, traits) }) }
      })
    }
    return { shown, renderTurns }
  }
  return {
    source,
    traits,
    render(prompt, options = {}) {
      const { renderTurns } = rendererOf(prompt, options)
      const rendered = renderStart(prompt, {
        render: (messages, { generationPrompt }) => renderTurns(messages, { generationPrompt, declares: true }).text,
        tags,
        showsReasoning: traits.reasoningField !== undefined,
      })
      return withPrefix(rendered, prompt.responsePrefix, tags)
    },
    heal(prompt, options = {}) {
      const { shown, renderTurns } = rendererOf(prompt, options)
      const { messages, tools, start } = prompt
      const { turns } = renderTurns(toTurns(messages), { generationPrompt: start === 'new-turn', declares: false })
      const described = new Map(shown.map((tool) => [tool.name, describeTool(tool, traits)]))
      return {
        ...prompt,
        messages: turns.map((turn) => toMessage(spellIds(turn, traits))),
        tools: tools.map((tool) => (isFunctionTool(tool) ? { ...tool, ...described.get(tool.name) } : tool)),
      }
    },
  }
}

type TurnOptions = { readonly generationPrompt: boolean; readonly declares: boolean }

type StartOptions = Parameters<typeof continueLastMessage>[1]

function renderStart(prompt: ChatPrompt, options: StartOptions): ContinuedPrompt {
  const { start } = prompt
  const messages = toTurns(prompt.messages).map(asForeignTurn)
  switch (start) {
    case 'last-message':
      return continueLastMessage(messages, options)
    case 'bare':
      return { text: options.render(messages, { generationPrompt: false }), startsInReasoning: false }
    case 'new-turn': {
      const text = options.render(messages, { generationPrompt: true })
      const opening = options.tags?.open.trim()
      return { text, startsInReasoning: opening !== undefined && text.trimEnd().endsWith(opening) }
    }
  }
}

/** The prefix belongs to the answer, so it may open or close reasoning itself. */
function withPrefix(start: ContinuedPrompt, prefix: string, tags: StartOptions['tags']): RenderedPrompt {
  const traced = start.text + asForeign(prefix)
  const closes = tags !== undefined && prefix.includes(tags.close.trim())
  return {
    text: plainText(traced),
    traced,
    startsInReasoning: endsInside(prefix, tags) || (start.startsInReasoning && !closes),
  }
}

/** The texts of a turn as foreign; `encodeMessages` covers the rest, which is still read before. */
function asForeignTurn(turn: TemplateTurn): TemplateTurn {
  const content = turn.content.map((part) => (part.type === 'text' ? { ...part, text: asForeign(part.text) } : part))
  if (turn.role !== 'assistant' || turn.reasoning === undefined) return { ...turn, content }
  return { ...turn, content, reasoning: asForeign(turn.reasoning) }
}

function foreignMembers(variables: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, asForeignData(value)]))
}

/** The effort is the caller's text; the other values are ours. */
function foreignEffort(variables: JsonObject, { effort }: ReasoningOptions): JsonObject {
  const entries = Object.entries(variables).map(([name, value]) => [name, value === effort ? asForeignData(value) : value])
  return Object.fromEntries(entries)
}

/** Whether a conversation that the assistant opens loses something, beside these tools. */
function needsOpening({ losesFirstReply }: TemplateTraits, tools: readonly unknown[]): boolean {
  return losesFirstReply === 'always' || (losesFirstReply === 'beside-tools' && tools.length > 0)
}

/** The first of these conversations that the template accepts. Throws its refusal of the first. */
function renderAny<T>(conversations: Iterable<readonly TemplateTurn[]>, render: (messages: readonly TemplateTurn[]) => T): T {
  let refusal: unknown
  for (const conversation of conversations) {
    try {
      return render(conversation)
    } catch (error) {
      refusal ??= error
      // A conversation that costs too much would do so again.
      if (error instanceof JinjaError && error.kind === 'budget') break
    }
  }
  const message = `the model's chat template cannot render this conversation: ${messageOf(refusal)}`
  throw new AppError('template-failed', message, { at: ['prompt', 'messages'], cause: refusal })
}

/** Refuses template variables that the request's own fields determine. */
function refuseReserved(variables: JsonObject): void {
  const name = ['messages', 'tools', 'add_generation_prompt'].find((reserved) => Object.hasOwn(variables, reserved))
  if (name === undefined) return
  throw new AppError('invalid-request', `the template variable '${name}' comes from the request and cannot be set`)
}

type VariableOptions = { readonly tokens: TemplateTokens; readonly now: () => Date }

function variablesOf(input: ProbeInput, { tokens, now }: VariableOptions): JsonObject {
  const { messages, tools, variables, generationPrompt, functionsAsText } = input
  return {
    messages,
    tools: asForeignData(tools),
    documents: null,
    add_generation_prompt: generationPrompt,
    bos_token: tokens.bos ?? '',
    eos_token: tokens.eos ?? '',
    pad_token: tokens.pad,
    unk_token: tokens.unk,
    // In `transformers` the caller sets these two.
    functions: functionsAsText ? asForeign(JSON.stringify(tools ?? [])) : tools?.length ? asForeignData(tools) : undefined,
    datetime: strftime(now(), '%b %d %Y'),
    ...variables,
  }
}

function parse(source: string, options: Parameters<typeof compileJinja>[1]): JinjaTemplate {
  try {
    return compileJinja(source, options)
  } catch (error) {
    throw new AppError('template-failed', `the chat template does not parse: ${messageOf(error)}`, { cause: error })
  }
}
