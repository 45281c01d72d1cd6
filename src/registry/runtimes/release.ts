import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { requestJson } from '../fetch/request-json.ts'
import type { Asset, Release } from './builds.ts'

/** Where llama.cpp's releases are described, in the form of GitHub's API. */
export const officialReleases = 'https://api.github.com/repos/ggml-org/llama.cpp'

type Releases = { readonly source: string; readonly signal?: AbortSignal | undefined }

/** Tags have letters, digits and dots: they become the names of folders. */
const versionPattern = /^[A-Za-z0-9][\w.-]*$/

const responseTimeoutMs = 15_000
const releaseSchema = z.object({
  tag_name: z.string().regex(versionPattern),
  assets: z.array(
    z.object({
      name: z.string().regex(/^[\w.+-]+$/),
      size: z.int().min(1),
      digest: z.string().nullish(),
      browser_download_url: z.string(),
    }),
  ),
})

/** A release with the addresses of its files. */
export type FoundRelease = Release & { readonly urlOf: (asset: Asset) => string }

/** The newest release, or the one with a tag. Throws `model-unavailable`. */
export async function findRelease(version: string | undefined, { source, signal }: Releases): Promise<FoundRelease> {
  const path = version === undefined ? 'latest' : `tags/${encodeURIComponent(version)}`
  const request = {
    url: `${source}/releases/${path}`,
    missing: version === undefined ? 'no release of llama.cpp' : `no release ${version} of llama.cpp`,
    accessHint: 'GitHub limits requests of one address: try again in an hour, or set `runtimes.source` to a mirror',
    headers: { accept: 'application/vnd.github+json' },
    responseTimeoutMs,
  }
  const { body, host } = await requestJson(request, signal)
  const parsed = releaseSchema.safeParse(body)
  if (!parsed.success) throw new AppError('model-unavailable', `${host} did not send a release in the form of GitHub's API`)
  const { tag_name: tag, assets } = parsed.data
  const urls = new Map(assets.map((asset) => [asset.name, asset.browser_download_url]))
  return {
    version: tag,
    assets: assets.map(({ name, size, digest }) => {
      const sha256 = /^sha256:([0-9a-f]{64})$/.exec(digest ?? '')?.[1]
      return { name, sizeBytes: size, ...(sha256 !== undefined && { sha256 }) }
    }),
    // A mirror that copies the description would name GitHub's files.
    urlOf: ({ name }) =>
      source === officialReleases ? (urls.get(name) ?? '') : `${source}/releases/download/${encodeURIComponent(tag)}/${name}`,
  }
}
