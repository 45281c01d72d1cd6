import type { MediaPart, Message, OutputPart } from '../../../../contract/request.ts'
import type { Profile } from '../../servers/profile.ts'
import { generatedMedia } from './generated-media.ts'
import { assistantBlock, type Block, blocksOrText, contentBlocks, resultBlock } from './messages-blocks.ts'
import { refuseNames } from './speaker-names.ts'

type Role = 'user' | 'assistant' | 'system'
type MessagesTurn = { readonly role: Role; readonly blocks: Block[] }

type Conversation = {
  /** The system messages at the start. */
  readonly system: readonly Block[]
  readonly messages: readonly { readonly role: Role; readonly content: unknown }[]
}

/**
 * Converts a conversation for Messages: consecutive turns of one role become one, and the results of tools come first in it. A later system
 * message becomes part of a user's turn if the server would refuse it. Throws `unsupported-field` for names of speakers, and for media in
 * an assistant's turn.
 */
export function toMessages(messages: readonly Message[], profile: Profile): Conversation {
  refuseNames(messages, profile)
  const turns: MessagesTurn[] = []
  const add = (role: Role, blocks: readonly Block[]) => {
    const last = turns.at(-1)
    if (last?.role === role) last.blocks.push(...blocks)
    // The protocol refuses empty turns.
    else if (blocks.length > 0) turns.push({ role, blocks: [...blocks] })
  }
  const system: Block[] = []
  const late = profile.messages?.lateSystem
  const isAnsweredNext = (index: number) => {
    const next = messages.slice(index).find(({ role }) => role !== 'system' && role !== 'developer')
    return turns.at(-1)?.role !== 'assistant' && (next === undefined || next.role === 'assistant')
  }
  for (const [index, message] of messages.entries()) {
    switch (message.role) {
      case 'system':
      case 'developer':
        if (turns.length === 0) system.push(...contentBlocks(message.content))
        else
          add(
            late === 'anywhere' || (late !== undefined && isAnsweredNext(index)) ? 'system' : 'user',
            contentBlocks(message.content),
          )
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
  // The protocol requires a question with text first. Another Dragoman does not.
  if (turns[0]?.role !== 'user' && late !== 'anywhere') turns.unshift({ role: 'user', blocks: [{ type: 'text', text: '…' }] })
  return { system, messages: turns.map(({ role, blocks }) => ({ role, content: blocksOrText(resultsFirst(blocks)) })) }
}

/** The result of a tool that a server ran belongs to the user's turn, like those of all other tools. */
function addPart(part: Exclude<OutputPart, MediaPart>, add: (role: Role, blocks: readonly Block[]) => void): void {
  if (part.type === 'tool-result') add('user', [resultBlock(part)])
  else add('assistant', assistantBlock(part))
}

function resultsFirst(blocks: readonly Block[]): readonly Block[] {
  const isResult = ({ type }: Block) => type === 'tool_result'
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}
