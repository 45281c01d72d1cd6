import { z } from 'zod'

/** The job of the image process, on its command line. */
export type ImageJob = z.infer<typeof imageJobSchema>
export const imageJobSchema = z.strictObject({
  /** The only loading operation of libvips that is allowed. */
  decoder: z.string(),
  maxPixels: z.int(),
  maxEdge: z.int().optional(),
  output: z.enum(['image/png', 'image/jpeg']),
})
