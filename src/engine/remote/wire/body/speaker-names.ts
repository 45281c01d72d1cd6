import type { Message } from '../../../../contract/request.ts'
import type { Profile } from '../../servers/profile.ts'
import { unsupported } from './sampling-fields.ts'

/** Throws `unsupported-field` for the name of a speaker, which the model would see. The name of a tool is in its call as well. */
export function refuseNames(messages: readonly Message[], profile: Profile): void {
  for (const [index, { role, name }] of messages.entries()) {
    if (name !== undefined && role !== 'tool') throw unsupported(profile, ['prompt', 'messages', index, 'name'])
  }
}
