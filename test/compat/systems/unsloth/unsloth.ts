import type { System } from '../../row.ts'
import { unslothChats } from './unsloth-chats.ts'
import { unslothModels } from './unsloth-models.ts'
import { unslothProtocols } from './unsloth-protocols.ts'
import { unslothReplies } from './unsloth-replies.ts'

/** Unsloth Studio's server of inference. */
export const unsloth: System = {
  title: 'Unsloth Studio',
  prefix: 'U',
  introduction: 'Its routes are below /api/inference and /v1; training, data and logins are not here.',
  groups: [...unslothModels, ...unslothChats, ...unslothReplies, ...unslothProtocols],
}
