import { z } from 'zod'
import { isTrustedUrl } from '../../registry/names/sources.ts'
import { officialReleases } from '../../registry/runtimes/release.ts'

/** Where builds of llama.cpp come from. */
export const runtimes = z
  .strictObject({
    source: z
      .string()
      .refine((text) => URL.canParse(text) && isTrustedUrl(new URL(text)), 'must be an https:// URL; http:// only on loopback')
      .transform((text) => text.replace(/\/+$/, ''))
      .default(officialReleases)
      .describe(
        "A mirror of llama.cpp's releases for `dragoman runtime`: it has `/releases/latest` and `/releases/tags/TAG`, as GitHub's API does, and " +
          '`/releases/download/TAG/FILE`. Absent: GitHub.',
      ),
  })
  .describe('Builds of llama.cpp that `dragoman runtime` fetches.')
