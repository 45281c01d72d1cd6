import type { FastifyReply, FastifyRequest } from 'fastify'

export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }
