import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { file } from '../downloads.ts'
import { listenOnLoopback } from '../upstream/loopback.ts'

type ReleaseOptions = {
  readonly version?: string
  /** The text of its llama-server, a script; or the path of a real one, whose whole folder is packed; or something else as the archive. */
  readonly program: { readonly script: string } | { readonly path: string } | { readonly archive: Buffer }
  /** Changes what the release says of its archive. */
  readonly describe?: (asset: Record<string, unknown>) => Record<string, unknown>
  /** Answers in the place of the mirror if it returns true. */
  readonly instead?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** A script that runs a llama-server, and gives it another model than the named one. */
export function wrapped(program: string, model: string): string {
  return `#!/bin/sh
[ "$1" = --version ] && exec '${program}' "$@"
previous= first=1
for argument do
  [ $first = 1 ] && set -- && first=0
  [ "$previous" = --model ] && argument='${model}'
  set -- "$@" "$argument"
  previous=$argument
done
exec '${program}' "$@"
`
}

/** A mirror of llama.cpp's releases with one release for Linux on this processor, whose archive has the layout of a real one. */
export async function serveReleases({ version = 'b9993', program, describe = (asset) => asset, instead }: ReleaseOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-release-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const name = `llama-${version}-bin-ubuntu-${process.arch}.tar.gz`
  const top = join(folder, `llama-${version}`)
  await mkdir(top)
  await writeFile(join(top, 'LICENSE'), 'MIT License')
  if ('script' in program) {
    await writeFile(join(top, 'llama-server'), program.script)
    await chmod(join(top, 'llama-server'), 0o755)
  } else if ('path' in program) await cp(dirname(program.path), top, { recursive: true })
  const archive = join(folder, name)
  await promisify(execFile)('tar', ['-czf', archive, '-C', folder, `llama-${version}`], { env: { ...process.env, GZIP: '-1' } })
  const body = 'archive' in program ? program.archive : await readFile(archive)
  const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`
  const browser_download_url = `https://example.com/releases/download/${version}/${name}`
  const release = { tag_name: version, assets: [describe({ name, size: body.length, digest, browser_download_url })] }
  const requests: string[] = []
  const { origin, close } = await listenOnLoopback((request, response) => {
    requests.push(`${request.url}${request.headers.range === undefined ? '' : ` ${request.headers.range}`}`)
    if (instead?.(request, response) === true) return
    if (request.url === `/releases/download/${version}/${name}`) return file({ body })(request, response)
    const isKnown = ['/releases/latest', `/releases/tags/${version}`].includes(request.url ?? '')
    response.writeHead(isKnown ? 200 : 404).end(isKnown ? JSON.stringify(release) : '')
  })
  onTestFinished(close)
  return { source: origin, name: `${version}-cpu`, archive: name, body, requests }
}
