import { AppError } from '../../../../contract/errors.ts'
import { field } from '../../../../contract/field.ts'
import type { MediaPart, Message, OutputPart } from '../../../../contract/request.ts'
import type { Profile } from '../../servers/profile.ts'
import { generatedMedia } from './generated-media.ts'
import { assistantBlock, type Block, blocksOrText, contentBlocks, resultBlock } from './messages-blocks.ts'
import { refuseNames } from './speaker-names.ts'

type Role = 'user' | 'assistant' | 'system'
type Turn = { readonly role: Role; readonly blocks: Block[] }

/** A conversation in the form of Messages. */
type Conversation = {
  /** The system messages at the start. */
  readonly system: readonly Block[]
  readonly messages: readonly { readonly role: Role; readonly content: unknown }[]
}

/**
 * A conversation for Messages: turns of one role in a row become one, and in it the results of tools come first. Throws
 * `unsupported-field` for names of speakers, for media in an assistant's turn, and for a later system message where the server takes none.
 */
export function toMessages(messages: readonly Message[], profile: Profile): Conversation {
  refuseNames(messages, profile)
  const turns: Turn[] = []
  const add = (role: Role, blocks: readonly Block[]) => {
    const last = turns.at(-1)
    if (last?.role === role) last.blocks.push(...blocks)
    // What says nothing is refused by the protocol.
    else if (blocks.length > 0) turns.push({ role, blocks: [...blocks] })
  }
  const system: Block[] = []
  for (const [index, message] of messages.entries()) {
    switch (message.role) {
      case 'system':
      case 'developer':
        if (turns.length === 0) system.push(...contentBlocks(message.content))
        else if (profile.messages?.lateSystem === true) add('system', contentBlocks(message.content))
        else throw lateSystem(profile, index)
        break
      case 'user':
        add('user', contentBlocks(message.content))
        break
      case 'tool':
        add('user', [resultBlock(message)])
        break
      case 'assistant':
        for (const [position, part] of message.parts.entries()) {
          if (part.type === 'media') throw generatedMedia(profile, ['prompt', 'messages', index, 'parts', position])
          addPart(part, add)
        }
    }
  }
  return { system, messages: turns.map(({ role, blocks }) => ({ role, content: blocksOrText(resultsFirst(blocks)) })) }
}

/** The result of a tool that a server ran is the user's, as those of all other tools. */
function addPart(part: Exclude<OutputPart, MediaPart>, add: (role: Role, blocks: readonly Block[]) => void): void {
  if (part.type === 'tool-result') add('user', [resultBlock(part)])
  else add('assistant', assistantBlock(part))
}

function resultsFirst(blocks: readonly Block[]): readonly Block[] {
  const isResult = ({ type }: Block) => type === 'tool_result'
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}

function lateSystem({ name }: Profile, index: number): AppError {
  const at = ['prompt', 'messages', index]
  const message = `the server behind this model (${name}) takes system messages before all others only: move ${field(...at)} there`
  return new AppError('unsupported-field', message, { at })
}
