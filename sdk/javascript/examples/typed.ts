// Types from schemas: `pmcp dev typed.ts`, with zod installed.
import { tool, ToolError, type ToolContext } from 'protomcp';
import { z } from 'zod';

const Forecast = z.object({ city: z.string(), days: z.array(z.number()) });

tool({
  name: 'forecast',
  description: 'Temperatures of the next days',
  args: z.object({
    city: z.string().describe('Which city'),
    days: z.number().int().min(1).max(14).default(3),
  }),
  output: Forecast,
  readOnlyHint: true,
  openWorldHint: false,
  handler({ city, days }, ctx: ToolContext) {
    if (city === 'Atlantis') {
      throw ToolError.notFound(`${city} is under water`, { suggestion: 'try a city on land' });
    }
    ctx.log.info('asked for a forecast', { city, days });
    const forecast: z.infer<typeof Forecast> = {
      city,
      days: Array.from({ length: days }, (_, day) => 20 + day),
    };
    return forecast;
  },
});
