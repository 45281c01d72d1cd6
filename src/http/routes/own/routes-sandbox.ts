import type { FastifyInstance } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { callerOf } from '../../access/caller.ts'
import type { Keeping } from '../../run/deps.ts'

type Parts = { readonly Params: { readonly session: string; readonly file: string } }

/** The pictures that programs have made in a session of the caller's key. */
export function addSandboxRoute(app: FastifyInstance, { pictures }: Keeping): void {
  const config = { scope: 'inference', encodeErrorOf: () => encodeOpenaiError } as const
  app.get<Parts>('/api/inference/sandbox/:session/:file', { config }, async (request, reply) => {
    if (pictures === undefined)
      throw new AppError('not-found', 'this server runs no programs: the tools python and terminal are off')
    const { session, file } = request.params
    const { mediaType, bytes } = await pictures.picture({ principalId: callerOf(request).id, id: session }, file)
    // A model chose its content: it is shown as the picture that its name claims, or not at all.
    reply.headers({
      'content-type': mediaType,
      'cache-control': 'private, no-store',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    })
    return reply.send(bytes)
  })
}
