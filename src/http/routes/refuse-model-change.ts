import type { FastifyReply } from 'fastify'
import { AppError } from '../../contract/errors.ts'

/** Refuses what llama-stack's clients do to register and remove models. */
export function refuseChange(reply: FastifyReply): never {
  reply.header('allow', 'GET, HEAD')
  throw new AppError(
    'method-not-allowed',
    'models cannot be registered or removed here: change `models` in the configuration, or load one with POST /api/inference/load',
  )
}
