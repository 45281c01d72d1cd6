import type { FastifyReply, FastifyRequest } from 'fastify'

/** A request and its reply. */
export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }
