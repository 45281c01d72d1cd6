import type { Spelling, TemplateMessage } from './template-messages.ts'

/** What a chat template can express, found by rendering small conversations with it. */
export type TemplateTraits = Spelling & {
  /** A system message at the start is rendered. */
  readonly system: boolean
  /** System messages after the start, and several in a row, are rendered where they stand. */
  readonly systemAnywhere: boolean
  /** Two user messages in a row are rendered. */
  readonly repeatedUser: boolean
  /** Tool calls of earlier turns and their results are rendered. */
  readonly toolHistory: boolean
  /** A user turn may follow a tool result, before the assistant has answered it. */
  readonly userAfterTool: boolean
}

type Render = (messages: readonly TemplateMessage[], tools: readonly unknown[]) => string

/** Texts that no template contains by itself. */
const needle = { system: 'xSYSx', second: 'xSYS2x', user: 'xUSRx', reply: 'xASTx', later: 'xLTRx', result: 'xRESx' }

/** Renders a handful of conversations; what throws, loses text or moves it is not supported. Takes about a millisecond. */
export function probeTraits(render: Render): TemplateTraits {
  const shows = (messages: readonly TemplateMessage[], inOrder: readonly string[], tools: readonly unknown[] = []): boolean => {
    try {
      const text = render(messages, tools)
      const places = inOrder.map((word) => text.indexOf(word))
      return places.every((place, index) => place !== -1 && place > (places[index - 1] ?? -1))
    } catch {
      // A template refuses what it cannot express by raising an exception: that is the answer to the probe.
      return false
    }
  }
  const typedContent = !shows([say('user', needle.user)], [needle.user]) && shows([say('user', needle.user, true)], [needle.user])
  const turn = (role: string, text: string) => say(role, text, typedContent)
  /** Whether a call in the history, and its result, are shown when its arguments are handed over in this form. */
  const showsCall = (args: unknown, ...following: TemplateMessage[]) => {
    const call = { id: 'call00001', type: 'function', function: { name: 'xFNx', arguments: args } }
    const messages = [
      turn('user', needle.user),
      { ...turn('assistant', ''), tool_calls: [call] },
      { ...turn('tool', needle.result), tool_call_id: call.id, name: 'xFNx' },
      ...following,
    ]
    const inOrder = [needle.user, 'xVALx', needle.result]
    // Some templates print calls only beside the declaration of the tool.
    return shows(messages, inOrder) || shows(messages, inOrder, [declaredTool])
  }
  return {
    typedContent,
    system: shows([turn('system', needle.system), turn('user', needle.user)], [needle.system, needle.user]),
    systemAnywhere:
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
    toolHistory: showsCall({ xKEYx: 'xVALx' }) || showsCall(argumentsAsText),
    userAfterTool: [{ xKEYx: 'xVALx' }, argumentsAsText].some((args) => showsCall(args, turn('user', needle.later))),
    // Data unless only text is printed: templates that know both want data.
    objectArguments: showsCall({ xKEYx: 'xVALx' }) || !showsCall(argumentsAsText),
  }
}

const argumentsAsText = '{"xKEYx":"xVALx"}'
const declaredTool = {
  type: 'function',
  function: { name: 'xFNx', description: 'a tool', parameters: { type: 'object', properties: {} } },
}

function say(role: string, text: string, typed = false): TemplateMessage {
  return { role, content: typed ? [{ type: 'text', text }] : text }
}
