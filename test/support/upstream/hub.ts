import { readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { onTestFinished, vi } from 'vitest'
import { builtinFile, builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { listenOnLoopback } from './loopback.ts'

/**
 * A hub on loopback that sends files and parts of them, whose every repository has the built-in model, as `x-Q4_K_M.gguf` and `x-Q8_0.gguf`; those with `vision` in their
 * names also its projector; those with `missing` do not exist. A search finds `owner/` with the text.
 */
export async function startHub() {
  const file = await readFile(builtinModel.path)
  const projector = await readFile(builtinFile('dragoman-tiny-mmproj.gguf') ?? '')
  const seen: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = []
  let resume: () => void = () => undefined
  let held: Promise<void> | undefined
  const { origin, close } = await listenOnLoopback(async ({ url = '', headers }, response) => {
    seen.push({ url, headers })
    if (url.startsWith('/api/models?')) {
      const { searchParams } = new URL(url, 'http://hub')
      response.end(JSON.stringify([{ id: `owner/${searchParams.get('search')}` }]))
      return
    }
    if (url.startsWith('/api/models/') && url.includes('missing')) {
      response.writeHead(401).end()
      return
    }
    if (url.startsWith('/api/models/')) {
      const names = ['README.md', 'x-Q4_K_M.gguf', 'x-Q8_0.gguf', ...(url.includes('vision') ? ['mmproj-F16.gguf'] : [])]
      response.end(
        JSON.stringify(
          names.map((path) => ({ type: 'file', path, size: path.startsWith('mmproj') ? projector.length : file.length })),
        ),
      )
      return
    }
    if (url.includes('mmproj')) {
      response.end(projector)
      return
    }
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
    if (to !== undefined) {
      const part = file.subarray(Number(from), Number(to) + 1)
      response.writeHead(206, { 'content-range': `bytes ${from}-${Number(from) + part.length - 1}/${file.length}` }).end(part)
      return
    }
    response.setHeader('content-length', file.length)
    response.write(file.subarray(0, 100_000))
    await held
    response.end(file.subarray(100_000))
  })
  return {
    origin,
    close: async () => {
      resume()
      await close()
    },
    seen,
    sizeBytes: file.length,
    /** Files stop after their first bytes, until the returned function is called. */
    hold: () => {
      held = new Promise((resolve) => {
        resume = resolve
      })
      return () => {
        held = undefined
        resume()
      }
    },
  }
}

/** The same for one test, as the hub that models are fetched from. */
export async function openHub() {
  const hub = await startHub()
  vi.stubEnv('HF_ENDPOINT', hub.origin)
  vi.stubEnv('HF_TOKEN', undefined)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await hub.close()
  })
  return hub
}
