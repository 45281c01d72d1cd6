import type { JsonObject } from '../../contract/request.ts'
import type { CallTraits } from './call-traits.ts'
import { probeCalls } from './probe-calls.ts'
import { type ThinkingSwitch, thinkingSwitches } from './reasoning-variables.ts'
import {
  encodeTools,
  type ReasoningField,
  reasoningFields,
  type Spelling,
  type TemplateMessage,
  thinkingPart,
} from './template-messages.ts'

/** The abilities of a chat template, found by rendering small conversations with it. */
export type TemplateTraits = Spelling &
  CallTraits & {
    /** A system message at the start is rendered in any conversation. */
    readonly system: boolean
    /** System messages after the start, and several in a row, are rendered in place. */
    readonly systemAnywhere: boolean
    /** Two user messages in a row are rendered. */
    readonly repeatedUser: boolean
    /** Two plain messages of the assistant in a row are rendered. */
    readonly repeatedAssistant: boolean
    /** Declared tools are shown to the model. */
    readonly tools: boolean
    /** Any schema of a tool is shown completely: printed as JSON. */
    readonly anySchema: boolean
    /** The value for "no tools": `null` for most templates, an empty list for a few. */
    readonly noTools: null | readonly unknown[]
    /** The variable `functions` must be JSON text, also without tools; otherwise it is a list, and absent without tools. */
    readonly functionsAsText: boolean
    /** The variable that switches thinking on and off; undefined without one. */
    readonly thinkingSwitch: ThinkingSwitch | undefined
    /** Without that variable it renders as with thinking switched off. */
    readonly isOffByDefault: boolean
  }

/** The values that a template is rendered with. */
export type ProbeInput = {
  readonly messages: readonly TemplateMessage[]
  readonly tools: null | readonly unknown[]
  readonly variables: JsonObject
  readonly generationPrompt: boolean
  readonly functionsAsText: boolean
}

/** Texts that no template contains. */
const needle = {
  system: 'xSYSx',
  second: 'xSECx',
  user: 'xUSRx',
  reply: 'xASTx',
  later: 'xLTRx',
  reasoning: 'xRSNx',
  key: 'xKEYx',
}

/**
 * Renders about forty small conversations, in a few milliseconds. Anything that throws, loses text or moves it is not supported. `names`:
 * the variables that the template reads.
 */
export function probeTraits(renderInput: (input: ProbeInput) => string, names: ReadonlySet<string>): TemplateTraits {
  let functionsAsText = false
  const attempt = (input: Partial<ProbeInput>): string | undefined => {
    try {
      return renderInput({ messages: [], tools: null, variables: {}, generationPrompt: true, functionsAsText, ...input })
    } catch {
      // A template refuses unsupported input by raising an exception, which answers the probe.
      return undefined
    }
  }
  const plainTurn = (tools: null | readonly unknown[]) =>
    [false, true].some((typed) => attempt({ messages: [say('user', needle.user, typed)], tools }) !== undefined)
  // Firefunction appends the variable to a text, even without tools.
  if (names.has('functions') && !plainTurn(null)) {
    functionsAsText = true
    functionsAsText = plainTurn(null)
  }
  const noTools = plainTurn(null) || !plainTurn([]) ? null : []
  const shows = (messages: readonly TemplateMessage[], inOrder: readonly string[], tools: readonly unknown[] = []): boolean => {
    const text = attempt({ messages, tools: tools.length > 0 ? tools : noTools })
    if (text === undefined) return false
    const positions = inOrder.map((word) => text.indexOf(word))
    return positions.every((position, index) => position !== -1 && position > (positions[index - 1] ?? -1))
  }
  const typedContent = !shows([say('user', needle.user)], [needle.user]) && shows([say('user', needle.user, true)], [needle.user])
  const turn = (role: string, text: string) => say(role, text, typedContent)
  const calls = probeCalls(shows, turn, reasoningFields)
  const showsReasoning = (field: ReasoningField) =>
    calls.reasoningBesideCall.includes(field) ||
    shows([turn('user', needle.user), { ...turn('assistant', needle.reply), [field]: needle.reasoning }], [needle.reasoning])
  // A template that prints content as JSON also shows the parts' other keys.
  const showsThinkingParts = () => {
    const content = [
      { ...thinkingPart(needle.reasoning), [needle.key]: '' },
      { type: 'text', text: needle.reply },
    ]
    const turns = [turn('user', needle.user), { role: 'assistant', content }]
    return shows(turns, [needle.user, needle.reasoning, needle.reply]) && !shows(turns, [needle.key])
  }
  const asksWith = (descriptions: Spelling['descriptions']) =>
    attempt({ messages: [turn('user', needle.user)], tools: encodeTools([bareTool], { descriptions }) })
  const showsAnySchema = () =>
    oddSchemas.every((schema) => {
      const tools = encodeTools([{ name: bareTool.name, parameters: schema }], { descriptions: 'parameters' })
      const text = attempt({ messages: [turn('user', needle.user)], tools })
      return (
        JSON.stringify(schema)
          .match(/x[A-Z]{3}x/g)
          ?.every((word) => text?.includes(word)) ?? text !== undefined
      )
    })
  const thinks = (variables: JsonObject) => attempt({ messages: [turn('user', needle.user)], tools: noTools, variables })
  const found = thinkingSwitches.find(
    ({ name, on, off }) => names.has(name) && thinks({ [name]: on }) !== thinks({ [name]: off }),
  )
  const system =
    shows([turn('system', needle.system), turn('user', needle.user)], [needle.system, needle.user]) &&
    (calls.systemBeforeCalls || !calls.toolHistory)
  return {
    ...calls,
    typedContent,
    noTools,
    functionsAsText,
    thinkingSwitch: found?.name,
    isOffByDefault: found !== undefined && thinks({}) === thinks({ [found.name]: found.off }),
    reasoningField: reasoningFields.find(showsReasoning) ?? (showsThinkingParts() ? 'content' : undefined),
    system,
    systemAnywhere:
      system &&
      shows(
        [turn('system', needle.system), turn('system', needle.second), turn('user', needle.user)],
        [needle.system, needle.second, needle.user],
      ) &&
      shows(
        [turn('user', needle.user), turn('assistant', needle.reply), turn('system', needle.system), turn('user', needle.later)],
        [needle.user, needle.reply, needle.system, needle.later],
      ) &&
      shows(
        [turn('user', needle.user), turn('system', needle.system), turn('assistant', needle.reply), turn('user', needle.later)],
        [needle.user, needle.system, needle.reply, needle.later],
      ),
    repeatedUser: shows([turn('user', needle.user), turn('user', needle.later)], [needle.user, needle.later]),
    repeatedAssistant: shows(
      [turn('user', needle.user), turn('assistant', needle.reply), turn('assistant', needle.second), turn('user', needle.later)],
      [needle.user, needle.reply, needle.second, needle.later],
    ),
    descriptions: (['optional', 'tools', 'parameters'] as const).find((each) => asksWith(each) !== undefined) ?? 'optional',
    anySchema: showsAnySchema(),
    tools: asksWith('parameters')?.includes(bareTool.name) === true,
  }
}

const bareTool = { name: 'xFNx', parameters: { type: 'object', properties: { xPRMx: { type: 'string' } } } }

/** Schemas that some templates refuse or print only in part. */
const oddSchemas: readonly JsonObject[] = [
  { $ref: '#/$defs/xDEFx', $defs: { xDEFx: { type: ['xTYPx', 'null'], anyOf: [true, { not: { xKEYx: [] } }] } } },
  { type: 'object', properties: { xONEx: true, xTWOx: { type: 'array', items: false }, xTREx: { type: ['string', 'xNULx'] } } },
  { properties: null, required: null },
  {},
]

function say(role: string, text: string, typed = false): TemplateMessage {
  return { role, content: typed ? [{ type: 'text', text }] : text }
}
