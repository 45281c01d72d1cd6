import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FileWishes, StoredFile } from '../../../contract/file-store.ts'
import { encodeAnthropicError, requestIdHeader } from '../../../dialect/anthropic/errors.ts'
import { encodeAnthropicFile, encodeAnthropicFiles, encodeDeletedAnthropicFile } from '../../../dialect/anthropic/files.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { encodeDeletedFile, encodeFile, encodeFileList, fileFields, readWishes } from '../../../dialect/openai/files.ts'
import { callerOf } from '../../access/caller.ts'
import { takeForm } from '../../body/parse-form.ts'
import { readUpload } from '../../body/read-upload.ts'
import type { EncodeError } from '../../reply/error-reply.ts'
import { addIgnored } from '../../reply/reply-headers.ts'
import type { Keeping, Watching } from '../../run/deps.ts'
import { withRun } from '../../run/serve-call.ts'

type Query = Readonly<Record<string, unknown>>
type WithId = { readonly Params: { readonly id: string } }

type FileForm = {
  wishes(fields: ReadonlyMap<string, string>): FileWishes
  one(file: StoredFile): unknown
  list(files: readonly StoredFile[], query: Query): unknown
  deleted(id: string): unknown
  readonly known: readonly string[]
  readonly encodeError: EncodeError
}

const openai: FileForm = {
  wishes: readWishes,
  one: encodeFile,
  list: encodeFileList,
  deleted: encodeDeletedFile,
  known: fileFields,
  encodeError: encodeOpenaiError,
}
const anthropic: FileForm = {
  wishes: () => ({}),
  one: encodeAnthropicFile,
  list: encodeAnthropicFiles,
  deleted: encodeDeletedAnthropicFile,
  known: [],
  encodeError: encodeAnthropicError,
}

/** The files that callers upload for their requests, in OpenAI's form or, with `anthropic-version`, in Anthropic's. */
export function addFileRoutes(app: FastifyInstance, deps: Watching & Keeping): void {
  const { files } = deps
  if (files === undefined) return
  const encodeErrorOf = (request: FastifyRequest) => formOf(request).encodeError
  const config = { scope: 'inference', encodeErrorOf } as const

  app.post('/v1/files', { config: { ...config, takesUploads: true } }, (request, reply) =>
    inForm(request, reply, (form) =>
      withRun(deps, request, reply, async ({ principal, signal }) => {
        const file = await readUpload({ ...takeForm(request), signal }, ({ allFields, ...upload }) => {
          const wishes = async () => checkFields(await allFields(), form, reply)
          return files.add(principal.id, { ...upload, wishes }, signal)
        })
        return form.one(file)
      }),
    ),
  )
  app.get<{ Querystring: Query }>('/v1/files', { config }, (request, reply) =>
    inForm(request, reply, async ({ list }) => list(await files.list(callerOf(request).id), request.query)),
  )
  app.get<WithId>('/v1/files/:id', { config }, (request, reply) =>
    inForm(request, reply, async ({ one }) => one(await files.get(callerOf(request).id, request.params.id))),
  )
  app.get<WithId>('/v1/files/:id/content', { config }, (request, reply) =>
    inForm(request, reply, async () => {
      const { id: owner } = callerOf(request)
      const { sizeBytes } = await files.get(owner, request.params.id)
      // Never shown as a page: an upload must not run in a browser.
      reply.headers({
        'content-type': 'application/octet-stream',
        'content-length': sizeBytes,
        'content-disposition': 'attachment',
        'x-content-type-options': 'nosniff',
      })
      return reply.send(Readable.from(await files.content(owner, request.params.id)))
    }),
  )
  app.delete<WithId>('/v1/files/:id', { config }, (request, reply) =>
    inForm(request, reply, async ({ deleted }) => {
      await files.delete(callerOf(request).id, request.params.id)
      return deleted(request.params.id)
    }),
  )
}

/** The wishes in the fields, once all have arrived. */
function checkFields(fields: ReadonlyMap<string, string>, form: FileForm, reply: FastifyReply): FileWishes {
  addIgnored(
    reply,
    [...fields.keys()].filter((name) => !form.known.includes(name)),
  )
  return form.wishes(fields)
}

/** With `anthropic-version`, Anthropic's. */
function formOf({ headers }: FastifyRequest): FileForm {
  return headers['anthropic-version'] === undefined ? openai : anthropic
}

function inForm(request: FastifyRequest, reply: FastifyReply, make: (form: FileForm) => Promise<unknown>): Promise<unknown> {
  const form = formOf(request)
  if (form === anthropic) reply.header(requestIdHeader, request.id)
  return make(form)
}
