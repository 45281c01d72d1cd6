import type { FastifyReply } from 'fastify'
import type { DecodedCall } from '../../contract/dialect.ts'
import type { StartEvent } from '../../contract/event.ts'
import { encodeFields } from './reply-headers.ts'

/** Adds the headers about a generation that has started. */
export function addStartHeaders(
  { structured, preset, divergedAt, ignored }: StartEvent,
  call: Pick<DecodedCall, 'ignored' | 'nameOf'>,
  reply: FastifyReply,
): void {
  if (ignored !== undefined) {
    // As for unknown fields, without indices.
    const names = ignored.map((path) => call.nameOf(path).replace(/\[\d+\]/g, '[]'))
    reply.header('x-dragoman-ignored', encodeFields([...call.ignored, ...names]))
  }
  if (structured !== undefined) reply.header('x-dragoman-structured', structured)
  if (preset !== undefined) reply.header('x-dragoman-preset', preset)
  if (divergedAt !== undefined) reply.header('x-dragoman-prefix', encodeFields([call.nameOf(divergedAt)]))
}
