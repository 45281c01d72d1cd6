import type { FastifyInstance } from 'fastify'
import { AppError } from '../../contract/errors.ts'
import { type BodyReaderOptions, createBodyReader, orNoBody } from './read-body.ts'

/** Reads JSON, and what routes say that they take besides; refuses other bodies. */
export function addBodyParsers(app: FastifyInstance, options: BodyReaderOptions): void {
  const readBody = createBodyReader(options)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, payload, done) => {
    if (request.routeOptions.config.isBodyLenient === true) return readBody(request, payload, orNoBody(request, done))
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding === 'identity') {
      return request.routeOptions.config.readsBody === true ? done(null, payload) : readBody(request, payload, done)
    }
    const message = `the content encoding '${encoding}' is not supported; send the body uncompressed`
    done(new AppError('unsupported-media-type', message))
  })
  app.addContentTypeParser('multipart/form-data', (request, payload, done) => {
    if (request.routeOptions.config.takesUploads === true) return done(null, payload)
    done(new AppError('unsupported-media-type', "this route takes no form; send JSON with 'content-type: application/json'"))
  })
  app.addContentTypeParser('*', (request, payload, done) => {
    if (request.routeOptions.config.takesAnyType === true) return readBody(request, payload, done)
    done(otherType(request.headers['content-type']))
  })
}

function otherType(sent: string | undefined): AppError {
  const problem = sent === undefined ? 'the body has no content type' : `the content type '${sent}' is not supported`
  return new AppError('unsupported-media-type', `${problem}; send JSON with 'content-type: application/json'`)
}
