import { AppError } from '../../../../contract/errors.ts'
import { type CanonicalPath, field } from '../../../../contract/field.ts'
import type { Profile } from '../../servers/profile.ts'

/** The refusal of media in an assistant's turn, if the protocol cannot hold them. */
export function generatedMedia({ name }: Profile, at: CanonicalPath): AppError {
  const message = `the server behind this model (${name}) takes no media in an assistant's turn: move ${field(...at)} into a user's message`
  return new AppError('unsupported-field', message, { at })
}
