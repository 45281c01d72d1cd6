import { z } from 'zod'

/** What the image process is to do, on its command line. */
export type ImageJob = z.infer<typeof imageJobSchema>
export const imageJobSchema = z.strictObject({
  /** The only operation of libvips that may load something. */
  decoder: z.string(),
  maxPixels: z.int(),
  maxEdge: z.int().optional(),
  output: z.enum(['image/png', 'image/jpeg']),
})
